import type { Client } from './generated/client/index.ts'
import { Listing, type Page } from './listing.ts'

/** What any call may be given. */
export interface CallOptions {
  signal?: AbortSignal | undefined
}

/** A call that makes something. */
export interface CreateOptions extends CallOptions {
  /** A new one is made for every call, and kept over its retries; give your own to be safe over restarts, too. */
  idempotencyKey?: string | undefined
}

/** A call that changes something. */
export interface EditOptions extends CallOptions {
  /** Refuse with `precondition-failed` unless this is still its version. */
  ifVersion?: number | undefined
}

export interface Connection {
  client: Client
}

type Result<Data> = Promise<{ data: Data | undefined; error: unknown; response?: Response }>

/** The value of a call. The transport has thrown already when there is none. */
export async function value<Data>(result: Result<Data>): Promise<Data> {
  const { data, error } = await result
  if (error !== undefined) throw error
  return data as Data
}

const withSignal = ({ signal }: CallOptions) => (signal === undefined ? {} : { signal })

/** What the generated functions take for a plain call. */
export const call = ({ client }: Connection, options: CallOptions = {}) => ({ client, ...withSignal(options) })

export const create = ({ client }: Connection, options: CreateOptions = {}) => ({
  client,
  ...withSignal(options),
  headers: { 'Idempotency-Key': options.idempotencyKey ?? crypto.randomUUID() },
})

export const edit = ({ client }: Connection, options: EditOptions = {}) => ({
  client,
  ...withSignal(options),
  ...(options.ifVersion === undefined ? {} : { headers: { 'If-Match': `"${options.ifVersion}"` } }),
})

/** The query parameters of an operation. */
export type Query<Data extends { query?: unknown }> = NonNullable<Data['query']>

/** A list of the API as something to iterate. */
export const listing = <Item, Query extends { cursor?: string }>(
  query: Query | undefined,
  read: (query: Query) => Result<Page<Item>>,
): Listing<Item> =>
  new Listing(
    (cursor) => value(read({ ...query, ...(cursor === undefined ? {} : { cursor }) } as Query)),
    query?.cursor,
  )

/** The same body with some instants given as `Date`s. */
export type WithDates<Body, Field extends keyof Body> = Omit<Body, Field> & {
  [Key in Field]?: Body[Key] | Date | undefined
}
