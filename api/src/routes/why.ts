import { explainJob } from '@meridian/core/why/job'
import { explainRun } from '@meridian/core/why/run'
import { z } from 'zod'
import { needs, operation } from '../http/operation.ts'
import { pathId } from '../wire/values.ts'
import { whyToWire, whyWire } from '../wire/why.ts'

const ofRun = operation({
  id: 'explainRun',
  method: 'get',
  path: '/v1/runs/{runId}/why',
  tag: 'Runs',
  summary: 'Tell why a run is not performed at this moment',
  description: 'Every reason that holds, as a code with what it is seen by; of a run that has ended, how it did.',
  access: needs('runs:read'),
  params: z.object({ runId: pathId('run') }),
  answer: { status: 200, description: 'The reasons.', schema: whyWire },
  handle: async ({ ctx, params }) => whyToWire(await explainRun(ctx, params.runId)),
})

const ofJob = operation({
  id: 'explainJob',
  method: 'get',
  path: '/v1/jobs/{jobId}/why',
  tag: 'Jobs',
  summary: 'Tell why a job does not run at this moment',
  description: 'Every reason that holds, as a code with what it is seen by, and what became of its last instant.',
  access: needs('jobs:read'),
  params: z.object({ jobId: pathId('job') }),
  answer: { status: 200, description: 'The reasons.', schema: whyWire },
  handle: async ({ ctx, params }) => whyToWire(await explainJob(ctx, params.jobId)),
})

export const whyOperations = [ofRun, ofJob]
