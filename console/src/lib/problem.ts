import type { ScheduleFault } from '#lib/schedule/schedule.ts'

/** What went wrong, for showing it: what happened, what it means, and the id to ask about it. */
export interface ProblemView {
  title: string
  detail: string
  requestId: string | undefined
  /** Which parts of what was sent are at fault. */
  errors: ScheduleFault[]
}

/** The fault of one field: the first whose pointer is it, or lies within it. */
export function faultOf(faults: readonly ScheduleFault[], pointer: string): string | undefined {
  return faults.find((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`))?.detail
}
