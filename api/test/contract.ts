import { openApiDocument } from '../src/openapi-document.ts'
import { operations } from '../src/operations.ts'
import { problemWire } from '../src/wire/problem.ts'

export interface Seen {
  method: string
  path: string
  status: number
  headers: Headers
  body: unknown
}

const patterns = operations.map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

const document = openApiDocument(operations) as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
}

/** Holds an answer against the document: a status it names, a body of its schema with no field more. */
export function checkContract({ method, path, status, headers, body }: Seen): void {
  const [pathname = ''] = path.split('?', 1)
  const found = patterns.find(
    ({ operation, pattern }) => operation.method === method.toLowerCase() && pattern.test(pathname),
  )
  const where = `${method} ${pathname} -> ${status}`
  if (headers.get('x-request-id') === null && found !== undefined) throw new Error(`${where}: no request id`)
  if (status >= 400) {
    if (headers.get('content-type') !== 'application/problem+json') throw new Error(`${where}: no problem body`)
    const problem = problemWire.parse(body)
    if (problem.status !== status) throw new Error(`${where}: the problem says ${problem.status}`)
    if ((status === 429 || status === 503) && headers.get('retry-after') === null)
      throw new Error(`${where}: no Retry-After`)
    if (status === 401 && headers.get('www-authenticate') === null) throw new Error(`${where}: no WWW-Authenticate`)
  }
  if (found === undefined) return
  const { operation } = found
  const documented = document.paths[operation.path]?.[operation.method]?.responses ?? {}
  if (!(String(status) in documented)) throw new Error(`${where}: ${operation.id} does not document this status`)
  if (status >= 300) return
  if (operation.answer.mediaType === undefined && operation.answer.schema !== undefined)
    operation.answer.schema.parse(body)
}
