/** What is kept of a response. Sealed as one envelope in `runs` and `attempts`. */
export interface StoredResponse {
  httpStatus: number
  headers: Record<string, string | string[]>
  /** The body was longer than what is kept. */
  truncated: boolean
  /** The URL that answered, when redirects were followed. */
  redirectedTo: string | null
  body: Buffer
}

const lengthBytes = 4

/** Four bytes of head length, the head as JSON, the body as it came. */
export function encodeResponse({ body, ...head }: StoredResponse): Buffer {
  const headBuffer = Buffer.from(JSON.stringify(head))
  const length = Buffer.allocUnsafe(lengthBytes)
  length.writeUInt32BE(headBuffer.length)
  return Buffer.concat([length, headBuffer, body])
}

/** What `encodeResponse` wrote. */
export function decodeResponse(encoded: Buffer): StoredResponse {
  const end = lengthBytes + encoded.readUInt32BE()
  const head = JSON.parse(encoded.toString('utf8', lengthBytes, end)) as Omit<StoredResponse, 'body'>
  return { ...head, body: encoded.subarray(end) }
}
