import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Uuid } from '../kernel/ids.ts'
import type { AttemptOutcome, ErrorClass } from '../run/outcome.ts'

/** How a breaker stands. Half-open: a probe is on its way. Closed ones are shown for a while. */
export const breakerStates = ['open', 'half-open', 'draining', 'closed'] as const
export type BreakerState = (typeof breakerStates)[number]

/** What keeps the runs of a tenant from a host that fails. */
export interface Breaker {
  id: Uuid
  /** As URLs name it: with the port when that is not the scheme's. */
  host: string
  state: BreakerState
  /** Since when it is open, draining or closed. */
  since: Date
  openedAt: Date
  /** As the audit trail writes actors; null: the host's failures. */
  openedBy: string | null
  reason: string | null
  closedAt: Date | null
  closedBy: string | null
  /** Within the window, when it was opened. */
  failures: number
  /** Of the last failure. */
  error: string | null
  httpStatus: number | null
  probesFailed: number
  /** When the next run is let go to see whether the host is back; null: not by itself. */
  probeAt: Date | null
  probeRun: Uuid | null
  /** Runs that it holds back; counting stops at 10,000. */
  held: number
}

/** When a breaker opens. */
export interface BreakerSettings {
  isEnabled: boolean
  /** So many failures of a host within the window, as one executor sees them, */
  failures: number
  /** that are at least this share of its attempts, open its breaker. */
  failureShare: number
  windowSeconds: number
}

export const defaultBreakerSettings: BreakerSettings = {
  isEnabled: true,
  failures: 20,
  failureShare: 0.5,
  windowSeconds: 30,
}

/** Bounds of the settings. */
export const breakerSettingsShape = {
  isEnabled: z.boolean(),
  failures: z.int().min(1).max(10_000),
  failureShare: z.number().min(0.01).max(1),
  windowSeconds: z.int().min(1).max(3_600),
}

export const hostValue = z
  .string()
  .max(260, { abort: true })
  .refine((text) => URL.canParse(`http://${text}/`) && hostOf(`http://${text}/`) === text, {
    error: 'must be a host as URLs name it: lower case, with the port when that is not the usual one',
  })
  .meta({ examples: ['api.example.com'] })

const hosts = new LRUCache<string, string>({ max: 5_000 })

/** The host of a URL, with the port when that is not the scheme's. */
export function hostOf(url: string): string {
  let host = hosts.get(url)
  if (host === undefined) {
    host = new URL(url).host
    hosts.set(url, host)
  }
  return host
}

const hostFailures: ReadonlySet<ErrorClass> = new Set([
  'timeout',
  'connect-failed',
  'tls-failed',
  'reset',
  'protocol-error',
  'dns-failed',
])

/**
 * What an attempt says of its host: that it is up, that it fails (no connection, no answer in time, 5xx, 429), or
 * nothing.
 */
export function verdictOf(outcome: AttemptOutcome): 'up' | 'failing' | null {
  const { httpStatus } = outcome
  if (outcome.status === 'failed' && hostFailures.has(outcome.errorClass)) return 'failing'
  if (httpStatus === null) return null
  if (outcome.status === 'failed' && (httpStatus >= 500 || httpStatus === 429)) return 'failing'
  return 'up'
}
