import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@hey-api/openapi-ts'

const folderOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

/** Writes the generated part of the SDK from the API's document. */
export async function generate(output = folderOf('src/generated')): Promise<void> {
  rmSync(output, { recursive: true, force: true })
  await createClient({
    input: folderOf('../api/openapi.json'),
    output: { path: output, module: { extension: '.ts' } },
    logs: { level: 'silent' },
    plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
  })
  // The generator's runtime does not hold under `exactOptionalPropertyTypes`, which whoever reads our sources may use.
  for (const entry of readdirSync(output, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    writeFileSync(file, `// @ts-nocheck\n${readFileSync(file, 'utf8')}`)
  }
}

if (import.meta.main) {
  await generate()
  process.stdout.write('sdk-ts/src/generated written\n')
}
