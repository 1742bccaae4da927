/**
 * How processes wake each other through Redis. A message only makes a look happen sooner: every loop also looks by
 * itself, so a lost one costs at most that wait.
 */
export const wakeChannel = (pool: number): string => `meridian:wake:${pool}`

/** The payload of a wake-up: the earliest due instant in epoch milliseconds; 0 means "slots came free". */
export const slotsFreed = 0

/** A create that is due within this time wakes the dispatcher at once; later ones are found by its look-ahead. */
export const lookAheadMs = 2_000

/** The Redis stream that the relay writes; the one field is `e`, an event as JSON. */
export const eventStream = 'meridian:events'

/** The BullMQ queue that carries a pool's parcels. */
export const parcelQueue = (pool: number): string => `pool-${pool}`

/** Carries those of a tenant that has little on the way past those of tenants that have much. */
export const expressQueue = (pool: number): string => `pool-${pool}-express`

/** Runs that a person stopped while they were running: `<runId> <fence>`. */
export const cancelChannel = (pool: number): string => `meridian:cancel:${pool}`
