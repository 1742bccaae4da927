import { toWireId, type Uuid } from '@meridian/core/kernel/ids'
import { isoInstant } from '@meridian/core/kernel/instant'

/** What every attempt tells its target about itself. */
export interface AttemptIdentity {
  runId: Uuid
  /** 1 for the first try. */
  attempt: number
  fence: number
  /** The instant of the run's schedule, which no retry moves; `null` for a run without one. */
  nominalAtMs: number | null
  dueAtMs: number
}

/** The headers of one request, names and values in turn: what Meridian adds, and what the tenant asked for. */
export interface AttemptHeaders {
  own: string[]
  tenant: string[]
}

// What a tenant may set instead of us.
const replaceable = new Set(['idempotency-key', 'traceparent', 'user-agent', 'accept-encoding', 'content-type'])

/** Makes the headers of one attempt. None of our own is a secret. */
export function attemptHeaders(
  identity: AttemptIdentity,
  tenantHeaders: Readonly<Record<string, string>>,
  hasBody: boolean,
): AttemptHeaders {
  const { tenant, replaced } = tenantPart(tenantHeaders)
  const own = ownHeaders(identity, hasBody)
  return { own: replaced.length === 0 ? own : withoutHeaders(own, (name) => replaced.includes(name)), tenant }
}

interface TenantPart {
  tenant: string[]
  /** Names, in lower case, that they set instead of us. */
  replaced: string[]
}

// Runs that ask for the same share their headers.
const tenantParts = new WeakMap<Readonly<Record<string, string>>, TenantPart>()

function tenantPart(headers: Readonly<Record<string, string>>): TenantPart {
  const known = tenantParts.get(headers)
  if (known !== undefined) return known
  const replaced = Object.keys(headers)
    .map((name) => name.toLowerCase())
    .filter((name) => replaceable.has(name))
  const part = { tenant: Object.entries(headers).flat(), replaced }
  tenantParts.set(headers, part)
  return part
}

function ownHeaders({ runId, attempt, fence, nominalAtMs, dueAtMs }: AttemptIdentity, hasBody: boolean): string[] {
  const id = toWireId('run', runId)
  const dueAt = isoInstant(dueAtMs)
  // A run without a schedule has no other nominal instant than the one it is due at.
  const nominalAt = nominalAtMs === null || nominalAtMs === dueAtMs ? dueAt : isoInstant(nominalAtMs)
  // biome-ignore format: names and values in pairs
  const headers = [
    'meridian-run-id', id,
    'meridian-attempt', `${attempt}`,
    'meridian-fence', `${fence}`,
    'meridian-nominal-at', nominalAt,
    'meridian-due-at', dueAt,
    'idempotency-key', id,
    'traceparent', traceparent(runId, attempt),
    'user-agent', 'Meridian/1',
    // Bodies are kept as they come: a small one that unpacks into gigabytes stays small.
    'accept-encoding', 'identity',
  ]
  if (hasBody) headers.push('content-type', 'application/json')
  return headers
}

/**
 * A W3C trace context that anyone can derive from a run: the trace is the run's UUID, the span is its random half with
 * the attempt in its last 16 bits, so all attempts of a run are spans of one trace. Neither can be zero.
 */
export function traceparent(runId: Uuid, attempt: number): string {
  const node = runId.slice(19, 23) + runId.slice(24)
  const trace = runId.slice(0, 8) + runId.slice(9, 13) + runId.slice(14, 18) + node
  return `00-${trace}-${node.slice(0, 12)}${(attempt % 0x1_0000).toString(16).padStart(4, '0')}-01`
}

/** The headers but those whose name, in lower case, is dropped. */
export function withoutHeaders(headers: string[], drops: (name: string) => boolean): string[] {
  const kept: string[] = []
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? ''
    if (!drops(name.toLowerCase())) kept.push(name, headers[index + 1] ?? '')
  }
  return kept
}
