import {
  type CallOptions,
  type Connection,
  type CreateOptions,
  call,
  create,
  type EditOptions,
  edit,
  listing,
  type Query,
  value,
  type WithDates,
} from './connection.ts'
import * as api from './generated/sdk.gen.ts'
import type * as wire from './generated/types.gen.ts'
import { pause } from './transport.ts'

/** Jobs: stored definitions. */
export const jobs = (to: Connection) => ({
  create: (body: wire.NewJob, options?: CreateOptions) => value(api.createJob({ ...create(to, options), body })),
  /** Makes the job of your own id be exactly this, whether it exists or not. */
  upsert: ({ externalId, ...body }: wire.JobUpsert & { externalId: string }, options?: EditOptions) =>
    value(api.upsertJob({ ...edit(to, options), path: { externalId }, body })),
  list: (query?: Query<wire.ListJobsData>, options?: CallOptions) =>
    listing(query, (query) => api.listJobs({ ...call(to, options), query })),
  get: (jobId: string, options?: CallOptions) => value(api.getJob({ ...call(to, options), path: { jobId } })),
  getByExternalId: (externalId: string, options?: CallOptions) =>
    value(api.getJobByExternalId({ ...call(to, options), path: { externalId } })),
  /** Changes what is given, keeps the rest. */
  update: (jobId: string, body: wire.JobChanges, options?: EditOptions) =>
    value(api.updateJob({ ...edit(to, options), path: { jobId }, body })) as Promise<wire.Job>,
  /** What such a change would do: which instants of the next 30 days appear and disappear. */
  simulate: (jobId: string, body: wire.JobChanges, options?: EditOptions) =>
    value(
      api.updateJob({ ...edit(to, options), path: { jobId }, query: { dryRun: true }, body }),
    ) as Promise<wire.JobSimulation>,
  delete: async (jobId: string, options?: EditOptions): Promise<void> => {
    await value(api.deleteJob({ ...edit(to, options), path: { jobId } }))
  },
  pause: (jobId: string, body: wire.PauseJob = {}, options?: CallOptions) =>
    value(api.pauseJob({ ...call(to, options), path: { jobId }, body })),
  resume: (jobId: string, options?: CallOptions) => value(api.resumeJob({ ...call(to, options), path: { jobId } })),
  /** Puts it away: it starts nothing and lists leave it out, until it is brought back. */
  archive: (jobId: string, options?: EditOptions) => value(api.archiveJob({ ...edit(to, options), path: { jobId } })),
  unarchive: (jobId: string, options?: CallOptions) =>
    value(api.unarchiveJob({ ...call(to, options), path: { jobId } })),
  /** Why it does not run at this moment: codes with what they are seen by. */
  why: (jobId: string, options?: CallOptions) => value(api.explainJob({ ...call(to, options), path: { jobId } })),
  /** In shadow its schedule is kept in the ledger and starts nothing. */
  setMode: (jobId: string, mode: wire.JobMode, options?: CallOptions) =>
    value(api.setJobMode({ ...call(to, options), path: { jobId }, body: { mode } })),
  /** Runs it now, or at an instant, beside its schedule. */
  run: (jobId: string, body: WithDates<wire.RunJob, 'dueAt'> = {}, options?: CreateOptions) =>
    value(api.runJob({ ...create(to, options), path: { jobId }, body: body as wire.RunJob })),
  versions: (jobId: string, query?: Query<wire.ListJobVersionsData>, options?: CallOptions) =>
    listing(query, (query) => api.listJobVersions({ ...call(to, options), path: { jobId }, query })),
  version: (jobId: string, version: number, options?: CallOptions) =>
    value(api.getJobVersion({ ...call(to, options), path: { jobId, version } })),
  restore: (jobId: string, version: number, options?: EditOptions) =>
    value(api.restoreJobVersion({ ...edit(to, options), path: { jobId, version } })),
  /** Proves that every instant of its schedule is in the ledger once. */
  certificate: (jobId: string, query?: Query<wire.GetCertificateData>, options?: CallOptions) =>
    value(api.getCertificate({ ...call(to, options), path: { jobId }, ...(query === undefined ? {} : { query }) })),
  /** The ledger of its schedule. */
  occurrences: (jobId: string, query?: Query<wire.ListOccurrencesData>, options?: CallOptions) =>
    listing(query, (query) => api.listOccurrences({ ...call(to, options), path: { jobId }, query })),
  /** The same, counted by minutes, hours or days. */
  occurrenceCounts: (jobId: string, query?: Query<wire.CountOccurrencesData>, options?: CallOptions) =>
    value(api.countOccurrences({ ...call(to, options), path: { jobId }, ...(query === undefined ? {} : { query }) })),
  /** The instants to come of its schedule. */
  upcoming: async (jobId: string, query?: Query<wire.ListJobUpcomingData>, options?: CallOptions) =>
    (
      await value(
        api.listJobUpcoming({ ...call(to, options), path: { jobId }, ...(query === undefined ? {} : { query }) }),
      )
    ).data,
  /** The same, counted by minutes, hours or days. */
  upcomingCounts: (jobId: string, query?: Query<wire.CountJobUpcomingData>, options?: CallOptions) =>
    value(api.countJobUpcoming({ ...call(to, options), path: { jobId }, ...(query === undefined ? {} : { query }) })),
  /** Skips one occurrence that is still to come, moves it, or writes a note beside it. */
  editOccurrence: (
    jobId: string,
    nominalAt: string,
    body: WithDates<wire.EditOccurrence, 'moveTo'>,
    options?: CallOptions,
  ) =>
    value(api.editOccurrence({ ...call(to, options), path: { jobId, nominalAt }, body: body as wire.EditOccurrence })),
})

const endedFirstMs = 100
const endedMaxMs = 2_000

type NewRun = WithDates<wire.NewRun, 'dueAt'>

/** Which runs. Of `metadata` all fields have to be as they are given. */
export type RunQuery = Omit<Query<wire.ListRunsData>, 'metadata'> & {
  metadata?: Record<string, string | number | boolean> | undefined
}

/** Runs: executions. */
export const runs = (to: Connection) => ({
  /** Starts a run, now or at `dueAt`. When this resolves, it is on disk. */
  create: (body: NewRun, options?: CreateOptions) =>
    value(api.createRun({ ...create(to, options), body: body as wire.NewRun })),
  /** Checks a run without starting it. */
  rehearse: (body: NewRun, options?: CallOptions) =>
    value(api.createRun({ ...call(to, options), query: { dryRun: true }, body: body as wire.NewRun })),
  /** Starts up to 1,000 runs. Each is answered in its place: the run, or `{ status: 'refused', problem }`. */
  createMany: async (bodies: readonly NewRun[], options?: CreateOptions) =>
    (await value(api.createRuns({ ...create(to, options), body: { runs: [...bodies] as wire.NewRun[] } }))).data,
  /** Newest first. What no index has, as `queue` or `metadata`, is looked for page by page: a page may be short. */
  list: ({ metadata, ...query }: RunQuery = {}, options?: CallOptions) => {
    const facts = Object.entries(metadata ?? {}).map(([name, value]) => `${name}=${value}`)
    const whole: Query<wire.ListRunsData> = facts.length === 0 ? query : { ...query, metadata: facts }
    return listing(whole, (query) => api.listRuns({ ...call(to, options), query }))
  },
  get: (runId: string, options?: CallOptions) => value(api.getRun({ ...call(to, options), path: { runId } })),
  /** The run once it has ended. Asks again and again, less and less often. */
  ended: async (runId: string, options: CallOptions = {}) => {
    for (let waitMs = endedFirstMs; ; waitMs = Math.min(endedMaxMs, waitMs * 1.5)) {
      const run = await value(api.getRun({ ...call(to, options), path: { runId } }))
      if (run.finishedAt !== null) return run
      await pause(waitMs, options.signal)
    }
  },
  cancel: (runId: string, options?: CallOptions) => value(api.cancelRun({ ...call(to, options), path: { runId } })),
  /** Runs again what an ended run did, with its body or another. */
  replay: (runId: string, body: wire.ReplayRun = {}, options?: CreateOptions) =>
    value(api.replayRun({ ...create(to, options), path: { runId }, body })),
  /** Why it is not performed at this moment, or how it ended: codes with what they are seen by. */
  why: (runId: string, options?: CallOptions) => value(api.explainRun({ ...call(to, options), path: { runId } })),
  attempts: async (runId: string, options?: CallOptions) =>
    (await value(api.listRunAttempts({ ...call(to, options), path: { runId } }))).data,
  events: async (runId: string, options?: CallOptions) =>
    (await value(api.listRunEvents({ ...call(to, options), path: { runId } }))).data,
  /** What is sent to the target. Needs `payloads:read`. */
  request: (runId: string, options?: CallOptions) =>
    value(api.getRunRequest({ ...call(to, options), path: { runId } })),
  /** What the target answered. Needs `payloads:read`. */
  response: (runId: string, query?: Query<wire.GetRunResponseData>, options?: CallOptions) =>
    value(api.getRunResponse({ ...call(to, options), path: { runId }, ...(query === undefined ? {} : { query }) })),
  /** All that is kept of its body, also where the response shows only the beginning. Needs `payloads:read`. */
  responseBody: (runId: string, query?: Query<wire.GetRunResponseBodyData>, options?: CallOptions) =>
    value(
      api.getRunResponseBody({
        ...call(to, options),
        path: { runId },
        parseAs: 'blob',
        ...(query === undefined ? {} : { query }),
      }),
    ),
  logs: (runId: string, query?: Query<wire.ListRunLogsData>, options?: CallOptions) =>
    listing(query, (query) => api.listRunLogs({ ...call(to, options), path: { runId }, query })),
  addLogs: async (runId: string, lines: wire.NewLogLine[], options?: CallOptions) =>
    (await value(api.addRunLogs({ ...call(to, options), path: { runId }, body: { lines } }))).data,
})

export const schedules = (to: Connection) => ({
  /** The next instants of a schedule, before it is saved. */
  preview: (body: WithDates<wire.PreviewSchedule, 'after'>, options?: CallOptions) =>
    value(api.previewSchedule({ ...call(to, options), body: body as wire.PreviewSchedule })),
})

export const targets = (to: Connection) => ({
  /** Calls a target once, now, as a run without retries. */
  test: (target: wire.TestTarget['target'], options?: CreateOptions) =>
    value(api.testTarget({ ...create(to, options), body: { target } })),
})

type NewOperation = wire.NewOperation

/** Dead letters: runs that failed or expired, and wait to be handled. */
export const deadLetters = (to: Connection) => ({
  list: (query?: Query<wire.ListDeadLettersData>, options?: CallOptions) =>
    listing(query, (query) => api.listDeadLetters({ ...call(to, options), query })),
  /** The open ones by what they failed of, the group that grew last first. */
  groups: async (options?: CallOptions) => (await value(api.groupDeadLetters(call(to, options)))).data,
  get: (runId: string, options?: CallOptions) => value(api.getDeadLetter({ ...call(to, options), path: { runId } })),
  /** Runs it again, now or after a delay, with its body or another. Many at once: `operations.create`. */
  redrive: (runId: string, body: wire.RedriveDeadLetter = {}, options?: CreateOptions) =>
    value(api.redriveDeadLetter({ ...create(to, options), path: { runId }, body })),
  /** Handles it by doing nothing more. */
  discard: (runId: string, options?: CallOptions) =>
    value(api.discardDeadLetter({ ...call(to, options), path: { runId } })),
})

/** Operations: work on many things, as a thing of its own. */
export const operations = (to: Connection) => ({
  /** Starts it; workers do it. */
  create: (body: NewOperation, options?: CreateOptions) => value(api.createOperation({ ...create(to, options), body })),
  /** Counts what it would do, with the first few things, and writes nothing. */
  rehearse: (body: NewOperation, options?: CallOptions) =>
    value(api.createOperation({ ...call(to, options), query: { dryRun: true }, body })),
  list: (query?: Query<wire.ListOperationsData>, options?: CallOptions) =>
    listing(query, (query) => api.listOperations({ ...call(to, options), query })),
  get: (operationId: string, options?: CallOptions) =>
    value(api.getOperation({ ...call(to, options), path: { operationId } })),
  /** Its things, and how each went. */
  items: (operationId: string, query?: Query<wire.ListOperationItemsData>, options?: CallOptions) =>
    listing(query, (query) => api.listOperationItems({ ...call(to, options), path: { operationId }, query })),
  pause: (operationId: string, options?: CallOptions) =>
    value(api.pauseOperation({ ...call(to, options), path: { operationId } })),
  resume: (operationId: string, options?: CallOptions) =>
    value(api.resumeOperation({ ...call(to, options), path: { operationId } })),
  abort: (operationId: string, options?: CallOptions) =>
    value(api.abortOperation({ ...call(to, options), path: { operationId } })),
  /** Takes back what it did, as an operation of its own. */
  undo: (operationId: string, options?: CallOptions) =>
    value(api.undoOperation({ ...call(to, options), path: { operationId } })),
  /** The operation once it has ended. Asks again and again, less and less often. */
  ended: async (operationId: string, options: CallOptions = {}) => {
    for (let waitMs = endedFirstMs; ; waitMs = Math.min(endedMaxMs, waitMs * 1.5)) {
      const operation = await value(api.getOperation({ ...call(to, options), path: { operationId } }))
      if (operation.finishedAt !== null) return operation
      await pause(waitMs, options.signal)
    }
  },
})

const arrivalLookMs = 50

/** By a length of time, or to an instant. */
type ClockWay = { by: string } | { to: string | Date }

const startClock = (to: Connection, testClockId: string, way: ClockWay, options?: CallOptions) =>
  value(api.advanceTestClock({ ...call(to, options), path: { testClockId }, body: way as wire.AdvanceTestClock }))

/** The time of a project that is made for tests. */
export const testClocks = (to: Connection) => ({
  create: (body: WithDates<wire.NewTestClock, 'now'>, options?: CreateOptions) =>
    value(api.createTestClock({ ...create(to, options), body: body as wire.NewTestClock })),
  list: (query?: Query<wire.ListTestClocksData>, options?: CallOptions) =>
    listing(query, (query) => api.listTestClocks({ ...call(to, options), query })),
  get: (testClockId: string, options?: CallOptions) =>
    value(api.getTestClock({ ...call(to, options), path: { testClockId } })),
  /** Sends it forward and does not wait: `target` says where it is going. */
  start: (testClockId: string, way: ClockWay, options?: CallOptions) => startClock(to, testClockId, way, options),
  /** Sends it forward and waits until it has arrived: until all that was due on the way has run. */
  advance: async (testClockId: string, way: ClockWay, options?: CallOptions) => {
    let clock = await startClock(to, testClockId, way, options)
    while (clock.target !== null) {
      await pause(arrivalLookMs, options?.signal)
      clock = await value(api.getTestClock({ ...call(to, options), path: { testClockId } }))
    }
    return clock
  },
  delete: async (testClockId: string, options?: CallOptions): Promise<void> => {
    await value(api.deleteTestClock({ ...call(to, options), path: { testClockId } }))
  },
})

/** Queues, by their names. */
export const queues = (to: Connection) => ({
  create: (body: wire.NewQueue, options?: CreateOptions) => value(api.createQueue({ ...create(to, options), body })),
  list: (query?: Query<wire.ListQueuesData>, options?: CallOptions) =>
    listing(query, (query) => api.listQueues({ ...call(to, options), query })),
  get: (queueName: string, options?: CallOptions) => value(api.getQueue({ ...call(to, options), path: { queueName } })),
  update: (queueName: string, body: wire.QueueChanges, options?: EditOptions) =>
    value(api.updateQueue({ ...edit(to, options), path: { queueName }, body })),
  pause: (queueName: string, body: wire.PauseQueue = {}, options?: CallOptions) =>
    value(api.pauseQueue({ ...call(to, options), path: { queueName }, body })),
  /** Who holds its slots, and who waits for one. */
  usage: (queueName: string, options?: CallOptions) =>
    value(api.getQueueUsage({ ...call(to, options), path: { queueName } })),
  resume: (queueName: string, options?: CallOptions) =>
    value(api.resumeQueue({ ...call(to, options), path: { queueName } })),
})

/** What runs mind beyond their queue. */
export const limits = (to: Connection) => ({
  create: (body: wire.NewLimit, options?: CreateOptions) => value(api.createLimit({ ...create(to, options), body })),
  list: (query?: Query<wire.ListLimitsData>, options?: CallOptions) =>
    listing(query, (query) => api.listLimits({ ...call(to, options), query })),
  get: (limitId: string, options?: CallOptions) => value(api.getLimit({ ...call(to, options), path: { limitId } })),
  update: (limitId: string, body: wire.LimitChanges, options?: EditOptions) =>
    value(api.updateLimit({ ...edit(to, options), path: { limitId }, body })),
  delete: async (limitId: string, options?: EditOptions): Promise<void> => {
    await value(api.deleteLimit({ ...edit(to, options), path: { limitId } }))
  },
  /** Who holds it and who waits for it, for each value of its key. */
  usage: (limitId: string, query?: Query<wire.GetLimitUsageData>, options?: CallOptions) =>
    listing(query, (query) => api.getLimitUsage({ ...call(to, options), path: { limitId }, query })),
  pause: (limitId: string, body: wire.PauseLimit = {}, options?: CallOptions) =>
    value(api.pauseLimit({ ...call(to, options), path: { limitId }, body })),
  resume: (limitId: string, options?: CallOptions) =>
    value(api.resumeLimit({ ...call(to, options), path: { limitId } })),
  /** For operators: its tenant can't change it any more. */
  pin: (limitId: string, options?: CallOptions) => value(api.pinLimit({ ...call(to, options), path: { limitId } })),
  unpin: (limitId: string, options?: CallOptions) => value(api.unpinLimit({ ...call(to, options), path: { limitId } })),
})

export const projects = (to: Connection) => ({
  create: (body: wire.NewProject, options?: CreateOptions) =>
    value(api.createProject({ ...create(to, options), body })),
  list: (query?: Query<wire.ListProjectsData>, options?: CallOptions) =>
    listing(query, (query) => api.listProjects({ ...call(to, options), query })),
  get: (projectId: string, options?: CallOptions) =>
    value(api.getProject({ ...call(to, options), path: { projectId } })),
  update: (projectId: string, body: wire.ProjectChanges, options?: EditOptions) =>
    value(api.updateProject({ ...edit(to, options), path: { projectId }, body })),
})

/** API keys. */
export const keys = (to: Connection) => ({
  /** The secret is in the answer and nowhere else. */
  create: (body: WithDates<wire.NewApiKey, 'expiresAt'>, options?: CreateOptions) =>
    value(api.createApiKey({ ...create(to, options), body: body as wire.NewApiKey })),
  list: (query?: Query<wire.ListApiKeysData>, options?: CallOptions) =>
    listing(query, (query) => api.listApiKeys({ ...call(to, options), query })),
  get: (keyId: string, options?: CallOptions) => value(api.getApiKey({ ...call(to, options), path: { keyId } })),
  revoke: (keyId: string, options?: CallOptions) => value(api.revokeApiKey({ ...call(to, options), path: { keyId } })),
})

/** Sessions of people. */
export const sessions = (to: Connection) => ({
  /** Exchanges an ID token of the identity provider for a session token. Needs no credential. */
  open: (body: wire.NewSession, options?: CallOptions) => value(api.openSession({ ...call(to, options), body })),
  /** Ends the session of this client. */
  close: async (options?: CallOptions): Promise<void> => {
    await value(api.closeSession(call(to, options)))
  },
})

/** Pictures of the past and of what comes. */
export const stats = (to: Connection) => ({
  runs: (query?: Query<wire.GetRunStatsData>, options?: CallOptions) =>
    value(api.getRunStats({ ...call(to, options), ...(query === undefined ? {} : { query }) })),
  open: (options?: CallOptions) => value(api.getOpenRuns(call(to, options))),
  /** Sets what share it may have; for operators. */
  setShare: (body: wire.ShareChanges, options?: CallOptions) => value(api.setShare({ ...call(to, options), body })),
  upcoming: async (query?: Query<wire.ListUpcomingData>, options?: CallOptions) =>
    (await value(api.listUpcoming({ ...call(to, options), ...(query === undefined ? {} : { query }) }))).data,
  /** What share of the slots the organisation and its queues got, and how long runs waited. */
  fairness: (query?: Query<wire.GetFairnessData>, options?: CallOptions) =>
    value(api.getFairness({ ...call(to, options), ...(query === undefined ? {} : { query }) })),
})

/** What the watchdog found. */
export const alarms = (to: Connection) => ({
  /** What stands still now; with `all`, also what moves again. */
  list: (query?: Query<wire.ListAlarmsData>, options?: CallOptions) =>
    value(api.listAlarms({ ...call(to, options), ...(query === undefined ? {} : { query }) })),
})
