import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { AppError } from '@meridian/core/kernel/errors'
import { parseDocument } from 'yaml'
import { countKeys, parseJson } from './json.ts'
import { HttpError } from './problems.ts'

/** No request body is larger. */
const bodyBytesMax = 10 * 1024 * 1024

/** YAML costs a hundred times as much to read as JSON, so less of it is taken. */
const yamlBytesMax = 1024 * 1024

export const jsonMediaTypes = ['application/json'] as const
export const yamlMediaTypes = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'] as const

// The connection stays open: the adapter reads on for a moment, so that a client which is still sending gets to read
// the answer. Closed at once, the rest of the body would turn it into a reset.
const tooLarge = (bytes: number): HttpError =>
  new HttpError('payload-too-large', `The body is larger than ${bytes / 1024 / 1024} MB.`)

/** The whole body, counted while it arrives, with or without a length announced. */
export function readBody(incoming: IncomingMessage, bytesMax = bodyBytesMax): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const finish = (act: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
      act()
    }
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes > bytesMax) finish(() => reject(tooLarge(bytesMax)))
      else chunks.push(chunk)
    }
    const onEnd = (): void =>
      finish(() => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)))
    const onBroken = (): void =>
      finish(() => reject(new AppError('malformed-request', 'The connection broke before the body was complete.')))
    incoming.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
  })
}

const mediaTypeOf = (contentType: string): string => (contentType.split(';', 1)[0] ?? '').trim().toLowerCase()

const isJson = (mediaType: string): boolean => mediaType === 'application/json' || mediaType.endsWith('+json')

const isYaml = (mediaType: string): boolean => (yamlMediaTypes as readonly string[]).includes(mediaType)

/** The value of a body by its content type; undefined when there is none. Throws `malformed-request` or `unsupported-media-type`. */
export function parseBody(contentType: string | undefined, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  const mediaType = mediaTypeOf(contentType ?? '')
  if (!isJson(mediaType) && !isYaml(mediaType)) {
    throw new AppError(
      'unsupported-media-type',
      `The content type must be ${jsonMediaTypes[0]} or ${yamlMediaTypes[0]}.`,
    )
  }
  if (!isUtf8(bytes)) throw new AppError('malformed-request', 'The body is not UTF-8.')
  const text = bytes.toString('utf8')
  return isJson(mediaType) ? parseJson(text) : parseYaml(text, bytes.length)
}

function parseYaml(text: string, bytes: number): unknown {
  if (bytes > yamlBytesMax) throw tooLarge(yamlBytesMax)
  try {
    const document = parseDocument(text, { uniqueKeys: true, prettyErrors: true, logLevel: 'error' })
    const [problem] = document.errors
    if (problem !== undefined) {
      const { line, col } = problem.linePos?.[0] ?? { line: 1, col: 1 }
      throw new AppError('malformed-request', `The body is not YAML: ${problem.code} at line ${line}, column ${col}.`)
    }
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    countKeys(value, 0)
    return value
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('malformed-request', 'The body is not YAML that can be read: too deep, or too many aliases.', {
      cause: error,
    })
  }
}
