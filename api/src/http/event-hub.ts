import type { Ctx } from '@meridian/core/db/context'
import type { StoredEvent } from '@meridian/core/event/event'
import { readProjectEvents, startPosition } from '@meridian/core/event/read'
import { AppError } from '@meridian/core/kernel/errors'
import type { Log } from '@meridian/core/kernel/log'
import { eventStream } from '@meridian/core/run/wake'
import type { Redis } from 'ioredis'

/** One reader of a project's events. */
export interface Subscriber {
  ctx: Ctx
  /** Takes events in order. Returns false when it takes no more for now: then it is closed and may resume. */
  take(events: readonly StoredEvent[]): boolean
  /** Resolves when it is ready for more. */
  ready(): Promise<void>
  close(): void
}

export interface EventHub {
  /**
   * Gives a subscriber every event of its project behind `after` (or from now on), each once and in order. Resolves
   * with where it starts once it is caught up. Throws `rate-limited` when its tenant has too many.
   */
  subscribe(subscriber: Subscriber, after: string | undefined): Promise<{ position: string; isReset: boolean }>
  unsubscribe(subscriber: Subscriber): void
  readonly subscriberCount: number
  /** Closes every subscriber. */
  close(): void
}

interface Seat {
  subscriber: Subscriber
  last: Position
  /** Live events that arrived while it was still catching up. */
  early: StoredEvent[] | null
}

type Position = readonly [xid: number, seq: number]

const pollAwayMs = 1_000
/** With Redis there nothing should be missing; this finds what was lost on the way all the same. */
const pollHealthyMs = 15_000
const readBatch = 500
const blockMs = 5_000

const parse = (position: string): Position => {
  const [xid = '0', seq = '0'] = position.split('-')
  return [Number(xid), Number(seq)]
}
const isAfter = (a: Position, b: Position): boolean => a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
const roomOf = ({ tenantId, projectId }: Pick<Ctx, 'tenantId' | 'projectId'>): string => `${tenantId}${projectId}`

export interface EventHubOptions {
  /** A connection of its own: it blocks. */
  openReader(): Redis
  log: Log
  streamsPerTenant: number
  /** A reader that was away for more transactions than this reloads instead: reading on would cost everybody. */
  resumeTransactionsMax: number
}

/**
 * Hands live events to the streams of this process: read once from Redis, whoever listens; from Postgres to catch up,
 * every second while Redis is away, and now and then to be certain.
 */
export function createEventHub({
  openReader,
  log,
  streamsPerTenant,
  resumeTransactionsMax,
}: EventHubOptions): EventHub {
  const rooms = new Map<string, Set<Seat>>()
  const seats = new Map<Subscriber, Seat>()
  let reader: Redis | null = null
  /** Resolves once the reader misses nothing that is told from then on, or Redis is known to be away. */
  let reading = Promise.resolve()
  let isRedisAway = false
  let pollTimer: NodeJS.Timeout | undefined

  const drop = (seat: Seat): void => {
    const { subscriber } = seat
    if (!seats.delete(subscriber)) return
    const room = rooms.get(roomOf(subscriber.ctx))
    room?.delete(seat)
    if (room?.size === 0) rooms.delete(roomOf(subscriber.ctx))
    if (seats.size === 0) stop()
  }

  const give = (seat: Seat, events: readonly StoredEvent[]): void => {
    const fresh: StoredEvent[] = []
    for (const event of events) {
      const position = parse(event.position)
      if (!isAfter(position, seat.last)) continue
      seat.last = position
      fresh.push(event)
    }
    if (fresh.length > 0 && !seat.subscriber.take(fresh)) {
      drop(seat)
      seat.subscriber.close()
    }
  }

  const tell = (events: readonly StoredEvent[]): void => {
    const byRoom = new Map<string, StoredEvent[]>()
    for (const event of events) {
      if (event.projectId === null) continue
      const key = event.tenantId + event.projectId
      if (!rooms.has(key)) continue
      const list = byRoom.get(key)
      if (list === undefined) byRoom.set(key, [event])
      else list.push(event)
    }
    for (const [key, list] of byRoom) {
      for (const seat of rooms.get(key) ?? []) {
        if (seat.early === null) give(seat, list)
        else seat.early.push(...list)
      }
    }
  }

  const poll = async (): Promise<void> => {
    for (const room of rooms.values()) {
      const caughtUp = [...room].filter((seat) => seat.early === null)
      const slowest = caughtUp.reduce<Seat | undefined>(
        (min, seat) => (min === undefined || isAfter(min.last, seat.last) ? seat : min),
        undefined,
      )
      if (slowest === undefined) continue
      try {
        for (;;) {
          const events = await readProjectEvents(slowest.subscriber.ctx, slowest.last.join('-'), readBatch)
          for (const seat of caughtUp) if (seats.has(seat.subscriber)) give(seat, events)
          if (events.length < readBatch || !seats.has(slowest.subscriber)) break
        }
      } catch (error) {
        log.warn({ err: error }, 'could not read events for live streams')
      }
    }
  }

  const schedulePoll = (): void => {
    clearTimeout(pollTimer)
    if (seats.size === 0) return
    pollTimer = setTimeout(() => void poll().finally(schedulePoll), isRedisAway ? pollAwayMs : pollHealthyMs)
  }

  const setRedisAway = (away: boolean): void => {
    if (isRedisAway === away) return
    isRedisAway = away
    // What was told just before Redis went, or while it was coming back, reached nobody.
    void poll().finally(schedulePoll)
  }

  const follow = async (redis: Redis, isReading: () => void): Promise<void> => {
    // An id of the stream and never `$`: what is written between two reads would be missed.
    let lastId: string | undefined
    while (reader === redis) {
      try {
        if (lastId === undefined) {
          lastId = await newestId(redis)
          isReading()
          void poll()
        }
        const answer = await redis.xread('COUNT', 100, 'BLOCK', blockMs, 'STREAMS', eventStream, lastId)
        setRedisAway(false)
        for (const [id, fields] of answer?.[0]?.[1] ?? []) {
          lastId = id
          tell(parseEntry(fields))
        }
      } catch (error) {
        if (reader !== redis) return
        if (!isRedisAway) log.warn({ err: error }, 'live events: Redis is away, reading from Postgres')
        setRedisAway(true)
        isReading()
        await new Promise((resolve) => setTimeout(resolve, pollAwayMs))
      }
    }
  }

  const start = (): void => {
    if (reader !== null) return
    const { promise, resolve } = Promise.withResolvers<void>()
    reading = promise
    reader = openReader()
    void follow(reader, resolve).finally(resolve)
    // A Redis that does not answer keeps nobody waiting: its events are read from Postgres when it comes.
    setTimeout(resolve, pollAwayMs).unref()
    schedulePoll()
  }

  const stop = (): void => {
    clearTimeout(pollTimer)
    reader?.disconnect()
    reader = null
    isRedisAway = false
  }

  const catchUp = async (seat: Seat): Promise<void> => {
    const { ctx } = seat.subscriber
    for (;;) {
      const events = await readProjectEvents(ctx, seat.last.join('-'), readBatch)
      give(seat, events)
      if (events.length < readBatch || !seats.has(seat.subscriber)) break
      await seat.subscriber.ready()
    }
    const early = seat.early ?? []
    seat.early = null
    give(seat, early)
  }

  return {
    async subscribe(subscriber, after) {
      const { tenantId } = subscriber.ctx
      const ofTenant = [...seats.keys()].filter((other) => other.ctx.tenantId === tenantId).length
      if (ofTenant >= streamsPerTenant) {
        throw new AppError('rate-limited', `There are ${streamsPerTenant} event streams open already.`, {
          retryAfterSeconds: 10,
        })
      }
      const seat: Seat = {
        subscriber,
        last: after === undefined ? [Number.MAX_SAFE_INTEGER, 0] : parse(after),
        early: [],
      }
      seats.set(subscriber, seat)
      const room = rooms.get(roomOf(subscriber.ctx)) ?? new Set()
      rooms.set(roomOf(subscriber.ctx), room.add(seat))
      start()
      try {
        await reading
        const now = await startPosition(subscriber.ctx)
        const isReset = after !== undefined && parse(now)[0] - parse(after)[0] > resumeTransactionsMax
        if (after === undefined || isReset) seat.last = parse(now)
        const position = seat.last.join('-')
        // The caller has to tell where it starts before the first event comes.
        setImmediate(() => {
          catchUp(seat).catch((error: unknown) => {
            log.warn({ err: error }, 'a live stream could not catch up')
            drop(seat)
            subscriber.close()
          })
        })
        return { position, isReset }
      } catch (error) {
        drop(seat)
        throw error
      }
    },
    unsubscribe(subscriber) {
      const seat = seats.get(subscriber)
      if (seat !== undefined) drop(seat)
    },
    get subscriberCount() {
      return seats.size
    },
    close() {
      for (const subscriber of seats.keys()) subscriber.close()
      stop()
    },
  }
}

/** The id of the newest entry; of the beginning, when there is none. */
async function newestId(redis: Redis): Promise<string> {
  const [newest] = await redis.xrevrange(eventStream, '+', '-', 'COUNT', 1)
  return newest?.[0] ?? '0'
}

/** The relay writes a batch of events an entry, as a JSON array in the field `e`. */
function parseEntry(fields: readonly string[]): StoredEvent[] {
  const index = fields.indexOf('e')
  const text = fields[index + 1]
  return index === -1 || text === undefined ? [] : (JSON.parse(text) as StoredEvent[])
}
