import {
  type CallOptions,
  type Connection,
  type CreateOptions,
  call,
  create,
  listing,
  type Query,
  value,
} from './connection.ts'
import * as api from './generated/sdk.gen.ts'
import type * as wire from './generated/types.gen.ts'

/** Schedules of other systems, taken over. */
export const imports = (to: Connection) => ({
  /** Makes jobs of them, in shadow unless told otherwise; made again, it updates them. */
  create: (body: wire.NewImport, options?: CreateOptions) => value(api.createImport({ ...create(to, options), body })),
  /** What each line would become, and what differs. Writes nothing. */
  rehearse: (body: wire.NewImport, options?: CallOptions) =>
    value(api.createImport({ ...call(to, options), query: { dryRun: true }, body })),
  list: (query?: Query<wire.ListImportsData>, options?: CallOptions) =>
    listing(query, (query) => api.listImports({ ...call(to, options), query })),
  get: (importId: string, options?: CallOptions) => value(api.getImport({ ...call(to, options), path: { importId } })),
  /** Lets all its jobs run from now on, or puts all of them back into shadow. */
  switch: (importId: string, mode: wire.JobMode, options?: CallOptions) =>
    value(api.switchImport({ ...call(to, options), path: { importId }, body: { mode } })),
  /** What the old system did, held against what was expected of it. */
  report: (importId: string, query?: Query<wire.GetImportReportData>, options?: CallOptions) =>
    value(api.getImportReport({ ...call(to, options), path: { importId }, ...(query === undefined ? {} : { query }) })),
  /** The ping URL of each of its jobs: what the old system has to call. */
  pingUrls: async (importId: string, options?: CallOptions) =>
    (await value(api.openImportPingUrls({ ...call(to, options), path: { importId } }))).data,
})

/** How a job that runs elsewhere tells that it did. */
export const pings = (to: Connection) => ({
  /** The job's ping URL; with `rotate` a new one, and the old one is dead. */
  url: (jobId: string, body: wire.OpenPingUrl = {}, options?: CallOptions) =>
    value(api.openPingUrl({ ...call(to, options), path: { jobId }, body })),
  list: (jobId: string, query?: Query<wire.ListPingsData>, options?: CallOptions) =>
    listing(query, (query) => api.listPings({ ...call(to, options), path: { jobId }, query })),
})
