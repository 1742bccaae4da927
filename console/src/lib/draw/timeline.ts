/** What a run was doing in a stretch of time. */
export type Phase = 'waiting' | 'queued' | 'running'

export interface TimelineAttempt {
  number: number
  /** When it became due: the run's due instant, or for a retry the end of the pause before it. */
  dueAt: number
  queuedAt: number | undefined
  startedAt: number | undefined
  finishedAt: number | undefined
  /** What the attempt ended with; undefined while it goes on. */
  outcome: 'succeeded' | 'failed' | 'cancelled' | undefined
}

export interface Segment {
  phase: Phase
  from: number
  to: number
  /** Left edge and width in percent of the axis. */
  left: number
  width: number
  open: boolean
}

export interface Lane {
  attempt: TimelineAttempt
  segments: Segment[]
}

export interface Timeline {
  from: number
  to: number
  lanes: Lane[]
  ticks: { left: number; offsetMs: number }[]
}

/** One lane per attempt on a common axis from the first due instant to the last end, or to now while it goes on. */
export function timeline(attempts: readonly TimelineAttempt[], now: number): Timeline {
  const ordered = attempts.toSorted((one, other) => one.number - other.number)
  const spans = ordered.map((attempt) => ({ attempt, spans: phases(attempt, now) }))
  const all = spans.flatMap((lane) => lane.spans)
  const from = Math.min(...all.map((span) => span.from))
  const to = Math.max(...all.map((span) => span.to), from + 1)
  if (all.length === 0) return { from: now, to: now, lanes: [], ticks: [] }
  const percent = (at: number) => ((at - from) / (to - from)) * 100
  return {
    from,
    to,
    lanes: spans.map(({ attempt, spans }) => ({
      attempt,
      segments: spans.map((span) => ({
        ...span,
        left: percent(span.from),
        width: percent(span.to) - percent(span.from),
      })),
    })),
    ticks: ticks(to - from).map((offsetMs) => ({ offsetMs, left: (offsetMs / (to - from)) * 100 })),
  }
}

type Span = Omit<Segment, 'left' | 'width'>

function phases(attempt: TimelineAttempt, now: number): Span[] {
  const edges: [Phase, number | undefined][] = [
    ['waiting', attempt.dueAt],
    ['queued', attempt.queuedAt],
    ['running', attempt.startedAt],
  ]
  const begun = edges.filter((edge): edge is [Phase, number] => edge[1] !== undefined)
  return begun.flatMap(([phase, from], index): Span[] => {
    const next = begun[index + 1]?.[1] ?? attempt.finishedAt
    // A run that is not due yet has nothing to draw, and clocks may differ by a hair.
    const to = next ?? Math.max(now, from)
    return next === undefined && from >= now ? [] : [{ phase, from, to: Math.max(to, from), open: next === undefined }]
  })
}

/** At most six round offsets for the axis. */
function ticks(length: number): number[] {
  const rough = length / 5
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const size = [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => candidate >= rough) ?? rough
  return Array.from({ length: Math.floor(length / size) + 1 }, (_, index) => index * size)
}
