import { isAway } from '@meridian/core/db/client'
import type { Ctx } from '@meridian/core/db/context'
import { notFound } from '@meridian/core/kernel/errors'
import type { Uuid } from '@meridian/core/kernel/ids'
import { getRuns } from '@meridian/core/run/get'
import type { Run } from '@meridian/core/run/run'
import { LRUCache } from 'lru-cache'
import { createGroupCommit, type GroupCommit } from './group-commit.ts'

/** Reads of single runs. */
export interface RunReads {
  /** The run as it stands at some instant after the call. Throws `not-found`. */
  get(ctx: Ctx, id: Uuid): Promise<Run>
}

interface Read {
  ctx: Ctx
  id: Uuid
}

const runsMax = 100
const projectsMax = 1_000

/**
 * Collects the reads of a project that come while one is on its way into the next: a poller of a thousand runs costs a
 * transaction a batch, and alone a read waits for nobody.
 */
export function createRunReads(): RunReads {
  const projects = new LRUCache<string, GroupCommit<Read, Run | null>>({ max: projectsMax })
  const open = (): GroupCommit<Read, Run | null> =>
    createGroupCommit<Read, Run | null>({
      flush: async (reads) => {
        const [first] = reads
        if (first === undefined) return []
        const runs = await getRuns(first.ctx, [...new Set(reads.map(({ id }) => id))])
        return reads.map(({ id }) => runs.get(id) ?? null)
      },
      isUnavailable: isAway,
      rowsMax: runsMax,
      weigh: () => 0,
      weightMax: 0,
      gapMs: 0,
    })
  return {
    async get(ctx, id) {
      const project = `${ctx.tenantId}${ctx.projectId}`
      let reads = projects.get(project)
      if (reads === undefined) {
        reads = open()
        projects.set(project, reads)
      }
      const run = await reads.submit({ ctx, id })
      if (run === null) throw notFound('run')
      return run
    },
  }
}
