import { writeFileSync } from 'node:fs'
import { openApiDocument } from './openapi-document.ts'
import { operations } from './operations.ts'

/** Writes `api/openapi.json`. Needs no database. */
const file = new URL('../openapi.json', import.meta.url)
writeFileSync(file, `${JSON.stringify(openApiDocument(operations), null, 2)}\n`)
process.stdout.write(`${operations.length} operations written to api/openapi.json\n`)
