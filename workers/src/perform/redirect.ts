import type { ErrorClass } from '@meridian/core/run/outcome'
import type { HttpMethod } from '@meridian/core/run/target'
import { type AttemptHeaders, withoutHeaders } from './headers.ts'

/** One request of a chain of redirects. */
export interface Hop {
  method: HttpMethod
  url: string
  headers: AttemptHeaders
  body: Buffer | null
}

/** Why a redirect is not followed. */
export interface Refusal {
  errorClass: ErrorClass
  detail: string
}

/** Where a response sends its request next; `null` when it is the answer. */
export type Step = { to: Hop } | { refusal: Refusal } | null

const redirectStatuses = new Set([301, 302, 303, 307, 308])

// Any other header of a tenant may be a secret, whatever its name: it was meant for the first origin alone.
const harmlessHeaders = new Set(['accept', 'accept-language', 'content-type', 'content-language', 'user-agent'])

/**
 * What to do about a response (RFC 9110, 15.4). 303 turns to GET, and so do 301 and 302 after a POST, as every client
 * does; the rest keeps method and body. Headers of the tenant are left behind when the origin changes. From https
 * there is no way to http.
 */
export function followRedirect(hop: Hop, status: number, location: string | string[] | undefined): Step {
  if (!redirectStatuses.has(status) || location === undefined) return null
  if (typeof location !== 'string' || !URL.canParse(location, hop.url)) {
    return { refusal: { errorClass: 'protocol-error', detail: 'The target redirected to no URL.' } }
  }
  const from = new URL(hop.url)
  const to = new URL(location, hop.url)
  to.hash = ''
  if (from.protocol === 'https:' && to.protocol === 'http:') {
    return { refusal: { errorClass: 'blocked-destination', detail: 'The target redirected from https to http.' } }
  }
  const kept = from.origin === to.origin ? hop : withoutSecrets(hop)
  return { to: { ...(turnsToGet(hop.method, status) ? withoutContent(kept) : kept), url: to.href } }
}

function turnsToGet(method: HttpMethod, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD'
  return (status === 301 || status === 302) && method === 'POST'
}

function withoutSecrets(hop: Hop): Hop {
  const { own, tenant } = hop.headers
  return { ...hop, headers: { own, tenant: withoutHeaders(tenant, (name) => !harmlessHeaders.has(name)) } }
}

function withoutContent(hop: Hop): Hop {
  const drops = (name: string): boolean => name.startsWith('content-')
  const { own, tenant } = hop.headers
  return {
    ...hop,
    method: 'GET',
    body: null,
    headers: { own: withoutHeaders(own, drops), tenant: withoutHeaders(tenant, drops) },
  }
}
