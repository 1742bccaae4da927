import { API_URL } from '$app/env/private'
import { type Me, type Membership, meOf } from '#lib/me.ts'
import type { ProblemView } from '#lib/problem.ts'
import type * as wire from '#lib/wire.ts'
import type { Session } from './session.ts'

export class ApiProblem extends Error {
  readonly status: number
  readonly body: { title: string; detail: string; code: string; requestId?: string; errors?: { pointer: string; detail: string }[] }
  constructor(status: number, body: ApiProblem['body']) {
    super(`${body.title}: ${body.detail}`)
    this.status = status
    this.body = body
  }
}

export const isEnded = (error: unknown): boolean => error instanceof ApiProblem && error.status === 401

export const toView = ({ body }: ApiProblem): ProblemView => ({
  title: body.title,
  detail: body.detail,
  requestId: body.requestId,
  errors: body.errors ?? [],
})

type Query = Record<string, string | number | string[] | undefined>

export class Api {
  readonly #headers: Record<string, string>

  constructor(token: string | undefined, projectId?: string) {
    this.#headers = {
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(projectId ? { 'meridian-project': projectId } : {}),
    }
  }

  async raw(method: string, path: string, { query = {}, body, headers = {}, signal }: { query?: Query; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {}): Promise<Response> {
    const url = new URL(path, API_URL)
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && !(Array.isArray(value) && value.length === 0)) url.searchParams.set(name, String(value))
    }
    const response = await fetch(url, {
      method,
      headers: { ...this.#headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    })
    if (!response.ok) {
      const problem = (await response.json().catch(() => undefined)) as ApiProblem['body'] | undefined
      throw new ApiProblem(response.status, problem ?? { title: 'No answer', detail: 'The API answered with no explanation.', code: 'internal' })
    }
    return response
  }

  async #call<T>(method: string, path: string, options?: Parameters<Api['raw']>[2]): Promise<T> {
    const response = await this.raw(method, path, options)
    return (response.status === 204 ? undefined : await response.json()) as T
  }

  createSession = (idToken: string) => this.#call<Omit<Session, 'idToken'>>('POST', '/v1/sessions', { body: { idToken } })
  endSession = () => this.#call<void>('DELETE', '/v1/sessions/current')
  me = () => this.#call<{ user: Me['user']; memberships: Membership[] }>('GET', '/v1/me')
  listJobs = (query: Query) => this.#call<wire.Page<wire.JobSummary>>('GET', '/v1/jobs', { query })
  getJob = (id: string) => this.#call<wire.Job>('GET', `/v1/jobs/${id}`)
  createJob = (body: wire.JobDefinition) => this.#call<wire.Job>('POST', '/v1/jobs', { body })
  updateJob = (id: string, body: Partial<wire.JobDefinition>, version: number) => this.#call<wire.Job>('PATCH', `/v1/jobs/${id}`, { body, headers: { 'if-match': `"${version}"` } })
  deleteJob = (id: string) => this.#call<void>('DELETE', `/v1/jobs/${id}`)
  pauseJob = (id: string, reason: string | null) => this.#call<wire.Job>('POST', `/v1/jobs/${id}/pause`, { body: { reason } })
  resumeJob = (id: string) => this.#call<wire.Job>('POST', `/v1/jobs/${id}/resume`)
  runJob = (id: string, body: { body?: unknown }) => this.#call<wire.Run>('POST', `/v1/jobs/${id}/run`, { body })
  listVersions = (id: string, query: Query) => this.#call<wire.Page<wire.JobVersionSummary>>('GET', `/v1/jobs/${id}/versions`, { query })
  getVersion = (id: string, version: number) => this.#call<wire.JobVersion>('GET', `/v1/jobs/${id}/versions/${version}`)
  restoreVersion = (id: string, version: number) => this.#call<wire.Job>('POST', `/v1/jobs/${id}/versions/${version}/restore`)
  listOccurrences = (id: string, query: Query) => this.#call<wire.Page<wire.Occurrence>>('GET', `/v1/jobs/${id}/occurrences`, { query })
  testTarget = (target: wire.HttpTarget) => this.#call<wire.Run>('POST', '/v1/targets/test', { body: { target } })
  listRuns = (query: Query) => this.#call<wire.Page<wire.Run>>('GET', '/v1/runs', { query })
  getRun = (id: string) => this.#call<wire.Run>('GET', `/v1/runs/${id}`)
  listAttempts = (id: string) => this.#call<wire.Page<wire.Attempt>>('GET', `/v1/runs/${id}/attempts`)
  getRequest = (id: string) => this.#call<wire.RunRequest>('GET', `/v1/runs/${id}/request`)
  getResponse = (id: string) => this.#call<wire.RunResponse>('GET', `/v1/runs/${id}/response`)
  listLogs = (id: string, query: Query) => this.#call<wire.Page<wire.LogLine>>('GET', `/v1/runs/${id}/logs`, { query })
  listEvents = (id: string) => this.#call<wire.Page<wire.RunEvent>>('GET', `/v1/runs/${id}/events`)
  cancelRun = (id: string) => this.#call<wire.Run>('POST', `/v1/runs/${id}/cancel`)
  replayRun = (id: string, body: { body?: unknown }) => this.#call<wire.Run>('POST', `/v1/runs/${id}/replay`, { body })
  histogram = (query: Query) => this.#call<{ buckets: wire.HistogramBucket[] }>('GET', '/v1/stats/runs', { query })
  openCounts = () => this.#call<Record<'scheduled' | 'ready' | 'queued' | 'running', number>>('GET', '/v1/stats/open')
  upcoming = (query: Query) => this.#call<{ data: wire.Upcoming[] }>('GET', '/v1/upcoming', { query })
  getQueue = (name: string) => this.#call<wire.Queue>('GET', `/v1/queues/${encodeURIComponent(name)}`)
  listQueues = (query: Query) => this.#call<wire.Page<wire.Queue>>('GET', '/v1/queues', { query })
  listKeys = (query: Query) => this.#call<wire.Page<wire.ApiKey>>('GET', '/v1/keys', { query })
  createKey = (body: { name: string; scopes: string[]; expiresAt: string | null }) => this.#call<wire.ApiKey & { secret: string }>('POST', '/v1/keys', { body })
  revokeKey = (id: string) => this.#call<wire.ApiKey>('DELETE', `/v1/keys/${id}`)
  async streamEvents(signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { body } = await this.raw('GET', '/v1/events/stream', { headers: { accept: 'text/event-stream' }, signal })
    return body ?? new ReadableStream()
  }
  preview = (body: { schedule: unknown; count: number }) => this.#call<import('#lib/schedule/schedule.ts').Preview>('POST', '/v1/schedules/preview', { body })
}

export async function openSession(idToken: string): Promise<Session> {
  return { ...(await new Api(undefined).createSession(idToken)), idToken }
}
export const readMe = async (token: string): Promise<Me> => meOf(await new Api(token).me())
export const endSession = (token: string): Promise<void> => new Api(token).endSession()
