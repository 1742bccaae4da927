import type { RunSource } from '@meridian/sdk'
import { readRange } from '#lib/draw/histogram.ts'
import { type RunStatus, runStatuses } from '#lib/draw/outcome.ts'
import { listParam } from '#lib/url.ts'

const sources: readonly RunSource[] = ['api', 'schedule', 'manual', 'replay', 'backfill', 'callback', 'batch']

const isTag = (text: string) => /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}$/.test(text)

/** `name=value`. */
function readFact(text: string): [string, string][] {
  const at = text.indexOf('=')
  return at > 0 ? [[text.slice(0, at).trim(), text.slice(at + 1).trim()]] : []
}

/** The query of the API's list of runs that a page's URL asks for. Unknown values are ignored. */
export function runFilter(params: URLSearchParams, now: number) {
  const { range, preset } = readRange(params, now)
  const source = params.get('source') ?? ''
  return {
    status: listParam(params.get('status')).filter((status): status is RunStatus =>
      runStatuses.includes(status as RunStatus),
    ),
    jobId: params.get('job') ?? undefined,
    queue: params.get('queue') ?? undefined,
    tag: listParam(params.get('tag')).filter(isTag),
    metadata: Object.fromEntries(params.getAll('metadata').flatMap(readFact)),
    callbackOf: params.get('callbackOf') ?? undefined,
    batchRunId: params.get('batch') ?? undefined,
    operationId: params.get('operation') ?? undefined,
    source: sources.find((known) => known === source),
    createdFrom: new Date(range.from).toISOString(),
    // A range up to now stays open, so that what is created next is in it.
    createdTo: preset === undefined ? new Date(range.to).toISOString() : undefined,
  }
}
