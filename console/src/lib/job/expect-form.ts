import type { Expectation, JsonExpectation } from '@meridian/sdk'
import type { ScheduleFault } from '#lib/schedule/schedule.ts'

/** One thing that an answer has to hold, as it is typed. */
export interface CheckForm {
  of: 'json' | 'body'
  /** Where in the JSON: `$.state`. */
  path: string
  is: 'equals' | 'notEquals' | 'matches' | 'notMatches' | 'exists' | 'absent'
  value: string
}

export interface ExpectForm {
  /** `2xx, 304`; empty: 2xx. */
  status: string
  checks: CheckForm[]
}

export const newCheck: CheckForm = { of: 'json', path: '', is: 'equals', value: '' }

type Scalar = string | number | boolean | null

const scalarText = (value: Scalar): string =>
  typeof value === 'string' && value.trim() === value && readScalar(value) === value ? value : JSON.stringify(value)

/** What is typed as a value: JSON where it is a number, `true`, `false`, `null` or a quoted text, else the text itself. */
function readScalar(text: string): Scalar {
  try {
    const value = JSON.parse(text) as unknown
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Scalar
  } catch {
    // A text without quotes.
  }
  return text
}

function checksOf({ path, equals, notEquals, matches, exists }: JsonExpectation): CheckForm[] {
  const check = (is: CheckForm['is'], value = ''): CheckForm => ({ of: 'json', path, is, value })
  return [
    ...(equals === undefined ? [] : [check('equals', scalarText(equals))]),
    ...(notEquals === undefined ? [] : [check('notEquals', scalarText(notEquals))]),
    ...(matches === undefined ? [] : [check('matches', matches)]),
    ...(exists === undefined ? [] : [check(exists ? 'exists' : 'absent')]),
  ]
}

/** The form of what is expected of an answer. A rule about one value with several conditions becomes several checks. */
export function expectFormOf(expect: Expectation | undefined): ExpectForm {
  const body = (is: 'matches' | 'notMatches') => (value: string) => ({ of: 'body', path: '', is, value }) as const
  return {
    status: expect?.status?.join(', ') ?? '',
    checks: [
      ...(expect?.json ?? []).flatMap(checksOf),
      ...(expect?.matches ?? []).map(body('matches')),
      ...(expect?.notMatches ?? []).map(body('notMatches')),
    ],
  }
}

function jsonOf({ path, is, value }: CheckForm): JsonExpectation {
  const at = { path: path.trim() }
  if (is === 'equals' || is === 'notEquals') return { ...at, [is]: readScalar(value) }
  if (is === 'matches') return { ...at, matches: value }
  return { ...at, exists: is === 'exists' }
}

/** Where the API speaks of a check: its place among those of its kind. */
export function pointerOf(checks: readonly CheckForm[], index: number): string {
  const check = checks[index]
  const list = (each: CheckForm | undefined) => (each?.of === 'json' ? 'json' : each?.is)
  const place = checks.slice(0, index).filter((other) => list(other) === list(check)).length
  return `/target/expect/${list(check)}/${place}`
}

/** What the form expects of an answer, undefined: nothing but 2xx; with what is still to be said. */
export function expectOf({ status, checks }: ExpectForm): { expect: Expectation | undefined; faults: ScheduleFault[] } {
  const json = checks.filter((check) => check.of === 'json').map(jsonOf)
  const body = (is: CheckForm['is']) =>
    checks.flatMap((check) => (check.of === 'body' && check.is === is ? check.value : []))
  const statuses = status.split(/[\s,;]+/).filter(Boolean)
  const lists = { status: statuses, json, matches: body('matches'), notMatches: body('notMatches') }
  const expect = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)) as Expectation
  const faults = checks.flatMap((check, index) => {
    const pointer = pointerOf(checks, index)
    if (check.of === 'json' && check.path.trim() === '') return [{ pointer, detail: 'Say where in the JSON: $.state' }]
    const needsPattern = check.is === 'matches' || check.is === 'notMatches'
    return needsPattern && check.value === '' ? [{ pointer, detail: 'Say what to look for' }] : []
  })
  return { expect: Object.keys(expect).length === 0 ? undefined : expect, faults }
}
