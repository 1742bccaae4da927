import { createHash } from 'node:crypto'
import type { Hit } from '../schedule/wall-rule.ts'

/** What a schedule was for a while: it holds the instants in (fromMs, untilMs]. */
export interface ReconciledSpan {
  readonly fromMs: number
  readonly untilMs: number
  readonly jobVersion: number
  /** The instants of its schedule; null when it had none, undefined when they can't be computed again. */
  readonly next: ((afterMs: number) => Hit | undefined) | null | undefined
  /** Another schedule comes after it: what was due while that was written may belong to neither. */
  readonly endsInSeam: boolean
  /** How far beyond its end it may have written already. */
  readonly aheadMs: number
  /** The instant at which its last run was used up: nothing comes after it. */
  readonly overMs: number | null
}

/** A row of the ledger: one instant, or several in a row that came to the same. */
export interface LedgerRow {
  readonly nominalMs: number
  readonly untilMs: number
  readonly count: number
  readonly outcome: 'pending' | 'run' | 'skipped' | 'missed'
  readonly reason: string | null
  readonly jobVersion: number
}

export interface Mismatch {
  readonly atMs: number
  /**
   * `missing`: an instant of the schedule that the ledger does not tell of; `unexpected`: a row that is no instant of it;
   * `miscounted`: a row that tells of another number of instants than there are.
   */
  readonly kind: 'missing' | 'unexpected' | 'miscounted'
}

export interface Reconciliation {
  readonly expected: { readonly count: number; readonly digest: string }
  readonly ledger: { readonly rows: number; readonly count: number; readonly digest: string }
  readonly outcomes: Readonly<Record<LedgerRow['outcome'], number>>
  /** Instants that the scheduler has not reached yet, or that a pause holds open. */
  readonly undecided: number
  /** Instants within the second in which the schedule was changed, which may belong to neither side. */
  readonly atSeams: number
  /** Rows of spans that can't be computed again. */
  readonly unchecked: number
  readonly mismatchCount: number
  readonly mismatches: readonly Mismatch[]
}

export interface ReconcileInput {
  readonly spans: readonly ReconciledSpan[]
  /** In order. */
  readonly rows: readonly LedgerRow[]
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  /** From a schedule's next instant on, and what it has left behind to be worked off. */
  readonly waiting: readonly { readonly fromMs: number; readonly untilMs: number }[]
}

export const mismatchesTold = 100
const seamMs = 1_000
export const instantsMax = 1_000_000
const stepSize = 1_000

export const isoOf = (ms: number): string => new Date(ms).toISOString()
/** A row as the digest of the ledger takes it. */
export const ledgerLine = ({ nominalMs, count, outcome, reason }: LedgerRow): string =>
  `${isoOf(nominalMs)} ${count} ${outcome} ${reason ?? '-'}\n`

/**
 * Holds a ledger against the schedule that it is of, in steps: every instant of the schedule in [from, to) has to be told
 * of once, and nothing else. Throws `RangeError` when there are more instants than can be looked at.
 */
export function* reconcileSteps(input: ReconcileInput): Generator<undefined, Reconciliation, undefined> {
  const { spans, rows, fromMs, toMs } = input
  const book = new Book(input)
  const expectedHash = createHash('sha256')
  let expected = 0
  for (const span of spans) {
    if (!span.next) continue
    const lastMs = Math.min(span.untilMs, toMs - 1, span.overMs ?? Infinity)
    let hit = span.next(Math.max(span.fromMs, fromMs - 1))
    while (hit !== undefined && hit.at <= lastMs) {
      if (++expected > instantsMax) throw new RangeError(`It has more than ${instantsMax} instants`)
      if (expected % stepSize === 0) yield
      expectedHash.update(`${isoOf(hit.at)}\n`)
      book.expect(hit.at, span)
      hit = span.next(hit.at)
    }
  }
  book.closeUntil(Infinity)
  const ledgerHash = createHash('sha256')
  for (const row of rows) ledgerHash.update(ledgerLine(row))
  return {
    expected: { count: expected, digest: expectedHash.digest('hex') },
    ledger: {
      rows: rows.length,
      count: Object.values(book.tallies.outcomes).reduce((sum, count) => sum + count, 0),
      digest: ledgerHash.digest('hex'),
    },
    ...book.tallies,
    mismatchCount: book.mismatchCount,
    mismatches: book.mismatches,
  }
}

class Book {
  readonly tallies = {
    outcomes: { pending: 0, run: 0, skipped: 0, missed: 0 },
    undecided: 0,
    atSeams: 0,
    unchecked: 0,
  }
  mismatchCount = 0
  readonly mismatches: Mismatch[] = []
  readonly #input: ReconcileInput
  #place = 0
  /** Instants that the row at this place was found to tell of. */
  #found = 0

  constructor(input: ReconcileInput) {
    this.#input = input
  }

  /** The next instant of the schedule. */
  expect(atMs: number, span: ReconciledSpan): void {
    this.closeUntil(atMs)
    const row = this.#input.rows[this.#place]
    if (row !== undefined && row.nominalMs <= atMs) this.#found++
    else if (this.#input.waiting.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs))
      this.tallies.undecided++
    else if (span.endsInSeam && atMs > span.untilMs - seamMs) this.tallies.atSeams++
    else this.#tell(atMs, 'missing')
  }

  /** Rows that tell of nothing from there on are done with. */
  closeUntil(atMs: number): void {
    for (let row = this.#input.rows[this.#place]; row !== undefined && row.untilMs < atMs; ) {
      this.tallies.outcomes[row.outcome] += this.#countWithin(row)
      this.#judge(row)
      this.#found = 0
      row = this.#input.rows[++this.#place]
    }
  }

  #judge(row: LedgerRow): void {
    if (this.#isUncheckable(row)) this.tallies.unchecked += row.count
    else if (this.#found === 0) {
      if (!this.#isAhead(row)) this.#tell(row.nominalMs, 'unexpected')
    } else if (this.#found !== this.#countWithin(row)) this.#tell(row.nominalMs, 'miscounted')
  }

  /** How many of its instants lie in the range: the first and the last row may reach out of it. */
  #countWithin({ nominalMs, untilMs, count }: LedgerRow): number {
    const { fromMs, toMs } = this.#input
    return nominalMs >= fromMs && untilMs < toMs ? count : this.#found
  }

  #isUncheckable({ nominalMs }: LedgerRow): boolean {
    return this.#input.spans.some(
      ({ next, fromMs, untilMs }) => next === undefined && fromMs < nominalMs && nominalMs <= untilMs,
    )
  }

  /** It was decided before its schedule gave way to another, and stays decided. */
  #isAhead({ nominalMs, jobVersion }: LedgerRow): boolean {
    return this.#input.spans.some(
      (span) =>
        span.jobVersion === jobVersion &&
        nominalMs > span.untilMs &&
        nominalMs <= span.untilMs + span.aheadMs &&
        (span.next === undefined || span.next?.(nominalMs - 1)?.at === nominalMs),
    )
  }

  #tell(atMs: number, kind: Mismatch['kind']): void {
    if (this.mismatchCount++ < mismatchesTold) this.mismatches.push({ atMs, kind })
  }
}
