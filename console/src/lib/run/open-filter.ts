import type { OpenRunFilter } from '@meridian/sdk'
import { listParam } from '#lib/url.ts'

const openStatuses = ['scheduled', 'ready', 'queued', 'running'] as const satisfies NonNullable<
  OpenRunFilter['status']
>[number][]
/** What narrows the list of runs, and is no matter of a filter of open ones. */
const others = ['source', 'metadata', 'callbackOf', 'batch', 'operation'] as const

type Params = Pick<URLSearchParams, 'get' | 'has'>

/** The open runs among those that the list of runs shows, whenever they were made; or why they can't be told so. */
export function openRunFilter(params: Params): { filter: OpenRunFilter } | { why: string } {
  const asked = listParam(params.get('status'))
  const status = openStatuses.filter((each) => asked.includes(each))
  if (asked.length > 0 && status.length === 0) return { why: 'What has ended can’t be cancelled' }
  if (others.some((name) => params.has(name)))
    return { why: 'Open runs are cancelled by status, job, queue and tag; take the other filters away' }
  const [job, queue, tags] = [params.get('job'), params.get('queue'), listParam(params.get('tag'))]
  return {
    filter: {
      ...(status.length === 0 ? {} : { status }),
      ...(job ? { jobId: job } : {}),
      ...(queue ? { queue } : {}),
      ...(tags.length === 0 ? {} : { tags }),
    },
  }
}
