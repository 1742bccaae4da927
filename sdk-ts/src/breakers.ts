import {
  type CallOptions,
  type Connection,
  call,
  type EditOptions,
  edit,
  listing,
  type Query,
  value,
} from './connection.ts'
import * as api from './generated/sdk.gen.ts'
import type * as wire from './generated/types.gen.ts'

/** Breakers: hosts that fail, and the runs that are held back until they are well. */
export const breakers = (to: Connection) => ({
  /** Those that are not closed; with `all`, those too. */
  list: (query?: Query<wire.ListBreakersData>, options?: CallOptions) =>
    listing(query, (query) => api.listBreakers({ ...call(to, options), query })),
  get: (breakerId: string, options?: CallOptions) =>
    value(api.getBreaker({ ...call(to, options), path: { breakerId } })),
  /** Holds the runs of a host until its breaker is closed by hand. */
  open: (body: wire.OpenBreaker, options?: CallOptions) => value(api.openBreaker({ ...call(to, options), body })),
  /** Lets what it holds go. */
  close: (breakerId: string, body: wire.CloseBreaker = {}, options?: CallOptions) =>
    value(api.closeBreaker({ ...call(to, options), path: { breakerId }, body })),
  /** When breakers open. */
  settings: (options?: CallOptions) => value(api.getBreakerSettings(call(to, options))),
  configure: (body: wire.BreakerSettingsChanges, options?: EditOptions) =>
    value(api.updateBreakerSettings({ ...edit(to, options), body })),
})
