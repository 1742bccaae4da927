import type { ErrorClass } from '@meridian/core/run/outcome'

/** A call that ended without a whole response. It travels through undici as the error of the request. */
export class OutboundError extends Error {
  readonly errorClass: ErrorClass
  constructor(errorClass: ErrorClass, detail: string, cause?: unknown) {
    super(detail, { cause })
    this.name = 'OutboundError'
    this.errorClass = errorClass
  }
}

/** Names what went wrong on a socket that was connected. `headSeen`: the head of the response had come. */
export function classifyError(error: unknown, headSeen: boolean): OutboundError {
  if (error instanceof OutboundError) return error
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return new OutboundError('reset', 'The worker that made the call stopped.', error)
  }
  if (isCutShort(code, message, headSeen)) {
    return new OutboundError('reset', 'The connection ended before the response did.', error)
  }
  return new OutboundError('protocol-error', `The target did not answer with valid HTTP (${code || message}).`, error)
}

const brokenSocketCodes = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])

function isCutShort(code: string, message: string, headSeen: boolean): boolean {
  if (brokenSocketCodes.has(code)) return true
  // undici names a socket that ended and a response it cannot read by one code.
  if (code === 'UND_ERR_SOCKET') return !message.startsWith('bad ')
  if (code === 'HPE_INVALID_EOF_STATE') return true
  return headSeen && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
}
