import pg from 'pg'
import { AppError, dependencyUnavailable } from '../kernel/errors.ts'

// timestamptz stays a Date; bigint counts fit a double here; date must not become a local midnight.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text)

export type Pool = pg.Pool
export type PoolClient = pg.PoolClient

export interface PoolOptions {
  url: string
  max: number
  applicationName: string
  /** Extra `-c name=value` settings of every session. */
  settings?: Record<string, string>
  /** Sends a statement before the one in front of it has answered, so that a short transaction takes fewer trips. */
  pipeline?: boolean
  /** How long a caller waits for a free connection before it is told "unavailable". */
  waitMs?: number
}

/**
 * The hot statements are arrays over tables that are often empty when they are analysed, so their plans are
 * pinned: generic, index only, no merge joins, no memoize. With the defaults one bad estimate costs seconds.
 */
export const hotPathSettings: Record<string, string> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_mergejoin: 'off',
  // Places never repeat within a batch: a cache in front of each probe only costs.
  enable_memoize: 'off',
  jit: 'off',
}

const everySession: Record<string, string> = {
  synchronous_commit: 'on',
  timezone: 'UTC',
  // A process that was frozen inside a transaction holds its locks, and with them everybody else, no longer than this.
  idle_in_transaction_session_timeout: '5s',
}

/** A pool that never takes the process down: a lost connection is an event here and an error at its user. */
export function createPool(options: PoolOptions): Pool {
  const settings = Object.entries({ ...everySession, ...options.settings })
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.waitMs ?? 5000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    pipeline: options.pipeline ?? false,
    options: settings.map(([name, value]) => `-c ${name}=${value}`).join(' '),
  })
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** What a SQLSTATE means to us, in one table. */
const retryable = new Set(['40001', '40P01', '55P03'])
const unavailable = /^(08|53|57P0[123]|25P03|57014)/
const networkCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT'])

const errorCodeOf = (error: unknown): string | undefined =>
  typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined

/** A conflict that goes away when the whole transaction is run again. */
export const isRetryable = (error: unknown): boolean => retryable.has(errorCodeOf(error) ?? '')

export const isUniqueViolation = (error: unknown): boolean => errorCodeOf(error) === '23505'

/** The database itself is away, restarting, out of connections, or out of time. */
export function isUnavailable(error: unknown): boolean {
  const code = errorCodeOf(error)
  if (code !== undefined && (unavailable.test(code) || networkCodes.has(code))) return true
  return (
    error instanceof Error &&
    /Connection terminated|timeout exceeded when trying to connect|connection timeout|Client has encountered a connection error|not queryable/i.test(
      error.message,
    )
  )
}

/** The same, in the driver's words or already told as `dependency-unavailable`: nothing was wrong with what was asked. */
export const isAway = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof AppError && error.code === 'dependency-unavailable')

/** Turns "the database is away" into the error that becomes a 503; lets everything else through. */
export function toAppError(error: unknown): unknown {
  if (error instanceof AppError) return error
  return isUnavailable(error) ? dependencyUnavailable('The database', error) : error
}

/** Runs one statement by its name, prepared once a connection; rows come as arrays. */
export async function runNamed<Row extends unknown[]>(
  client: Pool | PoolClient,
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  const result = await client.query<Row>({ name, text, values, rowMode: 'array' })
  return result.rows
}

/** A Postgres array literal from values that need no quoting (ids, numbers, base64, null). Cheaper than the driver's. */
export const arrayLiteral = (values: readonly (string | number | boolean | null | undefined)[]): string =>
  `{${values.map((value) => value ?? 'NULL').join(',')}}`

/** The same for free text. */
export const textArrayLiteral = (values: readonly (string | null | undefined)[]): string =>
  `{${values.map((value) => (value === null || value === undefined ? 'NULL' : `"${value.replace(/["\\]/g, '\\$&')}"`)).join(',')}}`

const byteaOid = 17

function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** A Postgres array of byte strings in its binary form: as text each byte would cost four to write and four to read. */
export function byteaArray(values: readonly Buffer[]): Buffer {
  // Dimensions, flags, type; then, for the one dimension there is unless it is empty, its length and its first index.
  const head = values.length === 0 ? [0, 0, byteaOid] : [1, 0, byteaOid, values.length, 1]
  return Buffer.concat([...head.map(int32), ...values.flatMap((value) => [int32(value.length), value])])
}
