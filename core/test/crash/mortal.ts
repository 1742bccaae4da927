import type { Pool, PoolClient } from '../../src/db/client.ts'

/**
 * The connections of one process, which is killed right before its statement number `fatal` of those that change
 * something: killed before one that only reads, it leaves what it leaves when it is killed before the next.
 */
export interface Mortal {
  /** The same pool, as that process has it. */
  pool(living: Pool): Pool
  hasDied(): boolean
}

const changing = /^commit|\b(insert|update|delete|admit_\w+|accept_\w+)\b/i

const textOf = ([first]: unknown[]): string =>
  typeof first === 'string' ? first : String((first as { text?: unknown }).text)

/** To the database a process that is killed is a connection that is cut in the middle of its transaction. */
export function mortal(fatal: number): Mortal {
  const open = new Set<PoolClient>()
  let statements = 0
  const hasDied = (): boolean => statements >= fatal

  async function die(): Promise<never> {
    await Promise.all([...open].map((client) => client.query('rollback')))
    throw new Error('killed')
  }

  const asks = async (client: PoolClient, given: unknown[]): Promise<unknown> => {
    if (hasDied()) throw new Error('killed')
    if (changing.test(textOf(given))) statements += 1
    if (hasDied()) return die()
    return (client.query as (...values: unknown[]) => unknown).apply(client, given)
  }

  const member = (target: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, name, target)
    return typeof value === 'function' ? value.bind(target) : value
  }

  async function connect(living: Pool): Promise<PoolClient> {
    const client = await living.connect()
    open.add(client)
    const release = (error?: Error | boolean): void => {
      open.delete(client)
      client.release(hasDied() ? false : error)
    }
    return new Proxy(client, {
      get: (target, name) =>
        name === 'release'
          ? release
          : name === 'query'
            ? (...given: unknown[]) => asks(target, given)
            : member(target, name),
    })
  }

  async function queryOnce(living: Pool, given: unknown[]): Promise<unknown> {
    const client = await connect(living)
    try {
      return await (client.query as (...values: unknown[]) => unknown)(...given)
    } finally {
      client.release()
    }
  }

  return {
    hasDied,
    pool: (living) =>
      new Proxy(living, {
        get: (target, name) =>
          name === 'connect'
            ? () => connect(target)
            : name === 'query'
              ? (...given: unknown[]) => queryOnce(target, given)
              : member(target, name),
      }),
  }
}
