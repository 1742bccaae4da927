import type { IncomingMessage, ServerResponse } from 'node:http'
import { hashToken } from '@meridian/core/access/token'
import { setJobMode } from '@meridian/core/job/shadow'
import { AppError, notFound } from '@meridian/core/kernel/errors'
import { toWireId } from '@meridian/core/kernel/ids'
import { listPings } from '@meridian/core/ping/list'
import { openPingUrl } from '@meridian/core/ping/ping-url'
import { type NewPing, pingBodyMax, pingKinds, recordPing } from '@meridian/core/ping/record'
import { z } from 'zod'
import type { Services } from '../http/env.ts'
import { alreadyAnswered, anybody, needs, operation, Reply } from '../http/operation.ts'
import { jobMode, jobToWire, jobWire } from '../wire/job.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { actor, instant, pathId, toActor, toInstant, wireId } from '../wire/values.ts'

const jobParams = z.object({ jobId: pathId('job') })

export const pingUrlText = ({ config }: Services, token: string): string => `${config.publicUrl}/ping/${token}`

const setMode = operation({
  id: 'setJobMode',
  method: 'post',
  path: '/v1/jobs/{jobId}/mode',
  tag: 'Jobs',
  summary: 'Put a job into shadow, or back to life',
  description:
    'In shadow its schedule is kept in the ledger (skipped, `shadow`) and starts nothing. Run by hand, it runs.',
  access: needs('jobs:write'),
  params: jobParams,
  body: z.strictObject({ mode: jobMode }).meta({ id: 'SetJobMode' }),
  example: { mode: 'shadow' },
  answer: { status: 200, description: 'The job.', schema: jobWire },
  problems: ['invalid-transition'],
  async handle({ ctx, params, body }) {
    const job = await setJobMode(ctx, params.jobId, body.mode)
    return new Reply(jobToWire(job), { version: job.version })
  },
})

const openUrl = operation({
  id: 'openPingUrl',
  method: 'post',
  path: '/v1/jobs/{jobId}/ping-url',
  tag: 'Pings',
  summary: 'Get the ping URL of a job',
  description:
    'Made when there is none. Whoever has it can tell that the job ran: `…/start`, then the URL itself, or `…/fail`, or the exit code of the command (`…/0`). GET and POST; of a body the first 4 KB are kept. With `rotate` it is a new one, and the old one is dead.',
  access: needs('jobs:write'),
  params: jobParams,
  body: z.strictObject({ rotate: z.boolean().default(false) }).meta({ id: 'OpenPingUrl' }),
  isBodyOptional: true,
  example: { rotate: false },
  answer: {
    status: 200,
    description: 'The URL.',
    schema: z
      .strictObject({
        jobId: wireId('job'),
        url: z.string().meta({ format: 'uri' }),
        createdBy: actor,
        createdAt: instant,
      })
      .meta({ id: 'PingUrl' }),
  },
  async handle({ ctx, params, body, services }) {
    const { jobId, token, createdBy, createdAt } = await openPingUrl(ctx, params.jobId, body)
    return {
      jobId: toWireId('job', jobId),
      url: pingUrlText(services, token),
      createdBy: toActor(createdBy),
      createdAt: toInstant(createdAt),
    }
  },
})

const list = operation({
  id: 'listPings',
  method: 'get',
  path: '/v1/jobs/{jobId}/pings',
  tag: 'Pings',
  summary: 'List the pings of a job, newest first',
  description: 'They are kept for 40 days.',
  access: needs('jobs:read'),
  params: jobParams,
  query: z.strictObject(pageQuery),
  answer: {
    status: 200,
    description: 'A page of pings.',
    schema: pageOf(
      z
        .strictObject({
          id: wireId('png'),
          at: instant,
          kind: z.enum(pingKinds),
          exitCode: z.int().nullable(),
          body: z.string().nullable().meta({ description: 'What was sent along; null without `payloads:read`.' }),
        })
        .meta({ id: 'Ping' }),
    ),
  },
  handle: async ({ ctx, params, query }) =>
    toPage(await listPings(ctx, params.jobId, toPageRequest(query)), ({ id, at, ...ping }) => ({
      id: toWireId('png', id),
      at: toInstant(at),
      ...ping,
    })),
})

const token = z.string().meta({ description: 'What makes the URL a secret.' })
const signal = z
  .string()
  .transform((text): Pick<NewPing, 'kind' | 'exitCode'> => {
    if (text === 'start' || text === 'fail') return { kind: text, exitCode: null }
    if (!/^\d{1,3}$/.test(text) || Number(text) > 255) throw notFound('signal: it is start, fail, or an exit code')
    return { kind: Number(text) === 0 ? 'finish' : 'fail', exitCode: Number(text) }
  })
  .meta({
    type: 'string',
    description: '`start`, `fail`, or the exit code of a command: 0 is success.',
    examples: ['start'],
  })

interface Received {
  services: Services
  incoming: IncomingMessage
  outgoing: ServerResponse
  responseHeaders: Record<string, string>
  requestId: string
}

/** The same answer to every token, whether there is such a URL or not. */
async function receive(
  { services, incoming, outgoing, responseHeaders, requestId }: Received,
  text: string,
  ping: Pick<NewPing, 'kind' | 'exitCode'>,
): Promise<typeof alreadyAnswered> {
  const { limits } = services
  const standings = await Promise.all([
    limits.pingAddress.take(incoming.socket.remoteAddress ?? ''),
    limits.ping.take(hashToken(text).toString('base64url')),
  ])
  const refused = standings.find(({ isAllowed }) => !isAllowed)
  if (refused !== undefined) {
    throw new AppError('rate-limited', `Too many pings. The window ends in ${refused.resetSeconds} s.`, {
      retryAfterSeconds: refused.resetSeconds,
    })
  }
  const body = incoming.method === 'POST' ? await readStart(incoming, pingBodyMax) : Buffer.alloc(0)
  const { pool, keyRing, clock } = services
  await recordPing({ pool, keyRing, clock, requestId }, text, { ...ping, body: body.length === 0 ? null : body })
  outgoing.writeHead(200, { ...responseHeaders, 'content-type': 'text/plain', 'content-length': '3' })
  outgoing.end('OK\n')
  return alreadyAnswered
}

/** The first bytes of a body; the rest is read and dropped. */
function readStart(incoming: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const finish = (): void => resolve(Buffer.concat(chunks).subarray(0, bytesMax))
    incoming
      .on('data', (chunk: Buffer) => {
        if (bytes < bytesMax) chunks.push(chunk)
        bytes += chunk.length
        if (bytes >= bytesMax) finish()
      })
      .on('end', finish)
      .on('error', reject)
      .on('close', finish)
  })
}

const pingAnswer = {
  status: 200,
  description: 'Always, whatever the token.',
  schema: z.string(),
  mediaType: 'text/plain',
} as const
const shared = { tag: 'Pings', access: anybody, answer: pingAnswer, problems: ['rate-limited'] } as const
const plainParams = z.object({ token })
const signalParams = z.object({ token, signal })
const finished = { kind: 'finish', exitCode: null } as const

const get = operation({
  ...shared,
  id: 'sendPing',
  method: 'get',
  path: '/ping/{token}',
  summary: 'Tell that a run has ended well',
  params: plainParams,
  handle: (call) => receive(call, call.params.token, finished),
})

const post = operation({
  ...shared,
  id: 'postPing',
  method: 'post',
  path: '/ping/{token}',
  summary: 'Tell that a run has ended well, with its output',
  params: plainParams,
  handle: (call) => receive(call, call.params.token, finished),
})

const getSignal = operation({
  ...shared,
  id: 'sendPingSignal',
  method: 'get',
  path: '/ping/{token}/{signal}',
  summary: 'Tell that a run starts, failed, or ended with an exit code',
  params: signalParams,
  handle: (call) => receive(call, call.params.token, call.params.signal),
})

const postSignal = operation({
  ...shared,
  id: 'postPingSignal',
  method: 'post',
  path: '/ping/{token}/{signal}',
  summary: 'Tell that a run starts, failed, or ended with an exit code, with its output',
  params: signalParams,
  handle: (call) => receive(call, call.params.token, call.params.signal),
})

export const pingOperations = [setMode, openUrl, list, get, post, getSignal, postSignal]
