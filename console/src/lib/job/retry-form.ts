import type { JobVersionDefinition } from '@meridian/sdk'
import type { ScheduleFault } from '#lib/schedule/schedule.ts'
import { exactWords, parseIsoDuration, readDuration, toIsoDuration } from '#lib/time/duration.ts'

export type RetryPolicy = JobVersionDefinition['retry']
export type RetryRule = NonNullable<RetryPolicy['rules']>[number]

/** How the pauses between tries grow, as it is typed; what is undefined or empty is as elsewhere. */
export interface PausesForm {
  kind: '' | 'exponential' | 'linear' | 'fixed' | 'list'
  delayMs: number | undefined
  maxDelayMs: number | undefined
  factor: number | undefined
  /** How much shorter a pause may be by chance. */
  jitterPercent: number | undefined
  /** `10 s, 1 min`. */
  delays: string
}

export interface RetryRuleForm extends PausesForm {
  /** `429, 5xx, timeout`. */
  on: string
  retry: boolean
  limit: number | undefined
}

export interface RetryForm extends PausesForm {
  limit: number | undefined
  maxAgeMs: number | undefined
  /** CEL that decides instead; empty: none. */
  expression: string
  rules: RetryRuleForm[]
}

/** What the API takes when nothing is said. */
const usual = { limit: 5, delay: 'PT0.1S', maxDelay: 'PT1.6S', factor: 2, jitter: 0.2 } as const

/** A new rule says nothing but that there is no use in trying again. */
export const newRule: RetryRuleForm = {
  on: '',
  retry: false,
  limit: undefined,
  kind: '',
  delayMs: undefined,
  maxDelayMs: undefined,
  factor: undefined,
  jitterPercent: undefined,
  delays: '',
}

const optionalMs = (duration: string | undefined) => (duration === undefined ? undefined : parseIsoDuration(duration))

function pausesOf({ strategy, delay, maxDelay, factor, jitter, delays }: Partial<RetryPolicy>): PausesForm {
  return {
    kind: delays === undefined ? (strategy ?? '') : 'list',
    delayMs: optionalMs(delay),
    maxDelayMs: optionalMs(maxDelay),
    factor,
    jitterPercent: jitter === undefined ? undefined : Math.round(jitter * 10_000) / 100,
    delays: (delays ?? []).map((each) => exactWords(parseIsoDuration(each) ?? 0)).join(', '),
  }
}

/** The form of a retry policy. */
export function retryFormOf(retry: RetryPolicy = usual): RetryForm {
  const pauses = pausesOf(retry)
  return {
    ...pauses,
    kind: pauses.kind || 'exponential',
    limit: retry.limit,
    maxAgeMs: optionalMs(retry.maxAge),
    expression: retry.expression ?? '',
    rules: (retry.rules ?? []).map((rule) => ({
      ...pausesOf(rule),
      on: rule.on.join(', '),
      retry: rule.retry,
      limit: rule.limit,
    })),
  }
}

const parts = (text: string): string[] => text.split(/[,;]+/).flatMap((part) => part.trim() || [])

/** The policy that the form means, with what of it can't be read. */
export function retryOf(
  form: RetryForm,
  before: RetryPolicy | undefined,
): { retry: RetryPolicy; faults: ScheduleFault[] } {
  const { pauses, faults } = readPauses(form, '/retry')
  // Exponential is what holds when no strategy is named: a policy that named none goes on naming none.
  if (form.kind === 'exponential' && before?.strategy === undefined) delete pauses.strategy
  const rules = form.rules.map((rule, index) => readRule(rule, `/retry/rules/${index}`))
  const retry: RetryPolicy = {
    ...usual,
    ...pauses,
    limit: pauses.delays?.length ?? form.limit ?? usual.limit,
    ...(form.maxAgeMs === undefined ? {} : { maxAge: toIsoDuration(form.maxAgeMs) }),
    ...(form.expression.trim() === '' ? {} : { expression: form.expression.trim() }),
    ...(rules.length === 0 ? {} : { rules: rules.map(({ rule }) => rule) }),
  }
  return { retry, faults: [...faults, ...rules.flatMap((each) => each.faults)] }
}

function readRule(form: RetryRuleForm, pointer: string): { rule: RetryRule; faults: ScheduleFault[] } {
  const on = parts(form.on)
  const faults = on.length === 0 ? [{ pointer: `${pointer}/on`, detail: 'Say after which failures' }] : []
  if (!form.retry) return { rule: { on, retry: false }, faults }
  const read = readPauses(form, pointer)
  const limit = form.limit === undefined ? {} : { limit: form.limit }
  return { rule: { on, retry: true, ...limit, ...read.pauses }, faults: [...faults, ...read.faults] }
}

function readPauses(form: PausesForm, pointer: string): { pauses: Partial<RetryPolicy>; faults: ScheduleFault[] } {
  const { kind, delayMs, maxDelayMs, factor, jitterPercent } = form
  const pauses: Partial<RetryPolicy> = {
    ...(kind === '' || kind === 'list' ? {} : { strategy: kind }),
    ...(delayMs === undefined ? {} : { delay: toIsoDuration(delayMs) }),
    ...(maxDelayMs === undefined ? {} : { maxDelay: toIsoDuration(maxDelayMs) }),
    ...(factor === undefined ? {} : { factor }),
    ...(jitterPercent === undefined ? {} : { jitter: Math.round(jitterPercent * 100) / 10_000 }),
  }
  if (kind !== 'list') return { pauses, faults: [] }
  const typed = parts(form.delays)
  const read = typed.map(readDuration)
  const unread = typed.find((_, index) => read[index] === undefined)
  const detail =
    typed.length === 0
      ? 'Write the pauses one after the other: 10 s, 1 min, 15 min'
      : `“${unread}” is no pause: write it like 30 s, 5 min or 2 h`
  const faults = typed.length === 0 || unread !== undefined ? [{ pointer: `${pointer}/delays`, detail }] : []
  const delays = read.flatMap((milliseconds) => (milliseconds === undefined ? [] : toIsoDuration(milliseconds)))
  return { pauses: { ...pauses, delays }, faults }
}
