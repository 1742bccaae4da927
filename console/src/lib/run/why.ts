import type { Attempt, Queue, Run } from '@meridian/sdk'
import { relativeWords } from '#lib/time/words.ts'
import { errorSentence } from './error-words.ts'

/** Why a run is not running, in sentences; empty when it is, or has ended. */
export function whyWaiting(run: Run, attempts: readonly Attempt[], queue: Queue | undefined, now: number): string[] {
  if (run.status === 'scheduled') return scheduledWords(run, attempts, now)
  if (run.status === 'queued') return ['It has a slot and is on its way to an executor.']
  if (run.status !== 'ready') return []
  if (!queue) return [`It is due and waits for a slot in the queue ${run.queue}.`]
  if (queue.pausedAt !== null) {
    const since = `The queue ${queue.name} is paused, since ${relativeWords(Date.parse(queue.pausedAt), now)}.`
    return queue.pauseReason ? [since, `The reason given: ${queue.pauseReason}`] : [since]
  }
  const busy = queue.depth.queued + queue.depth.running
  const ahead = queue.depth.ready - 1
  const others =
    ahead > 0 ? ` ${ahead.toLocaleString('en-GB')} ${ahead === 1 ? 'other waits' : 'others wait'} with it.` : ''
  if (busy >= queue.concurrency) {
    return [`The queue ${queue.name} is full: ${busy} of ${queue.concurrency} at once.${others}`]
  }
  return [
    `It is due and waits for a free executor. The queue ${queue.name} has room: ${busy} of ${queue.concurrency}.${others}`,
  ]
}

function scheduledWords(run: Run, attempts: readonly Attempt[], now: number): string[] {
  const last = attempts.at(-1)
  const due = relativeWords(Date.parse(run.dueAt), now)
  if (!last?.retryAt) return [`It is due ${due}.`]
  const reason = last.error ? errorSentence(last.error, last.httpStatus) : 'It failed.'
  const left = run.attemptsMax === null ? '' : `, of at most ${run.attemptsMax}`
  return [`Attempt ${last.attempt} failed. ${reason}`, `Attempt ${last.attempt + 1}${left}, is due ${due}.`]
}
