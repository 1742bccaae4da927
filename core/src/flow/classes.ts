/** Classes of queues, in the order in which they are served. Their places are their numbers in the database. */
export const queueClasses = ['critical', 'standard', 'bulk'] as const
export type QueueClass = (typeof queueClasses)[number]

export type PerClass<Value> = Record<QueueClass, Value>

/** One value for each class. */
export const perClass = <Value>(make: (of: QueueClass) => Value): PerClass<Value> => ({
  critical: make('critical'),
  standard: make('standard'),
  bulk: make('bulk'),
})

/** How operators divide the slots of a pool among classes, in percent. */
export interface ClassShares {
  /**
   * What is reserved for each class while it has work. What is reserved for one that has none is lent to the others, and comes
   * back as slots come free; bulk is left some, so that nothing waits for ever.
   */
  reserved: PerClass<number>
  /**
   * What only critical runs may take, were it idle. With none kept, a critical run would wait for the end of whatever runs;
   * with much, it would stand idle most of the time.
   */
  spare: number
}

/** Unless operators say otherwise. */
export const usualShares: ClassShares = { reserved: { critical: 25, standard: 50, bulk: 10 }, spare: 5 }

/** How many of so many slots are kept free for critical runs: never a last one. */
export const spareOf = (slots: number, { spare }: Pick<ClassShares, 'spare'> = usualShares): number =>
  Math.max(0, Math.min(slots - 1, Math.ceil((slots * spare) / 100)))

/** How a pool stands when slots are given to one class after the other. */
export interface ClassStanding {
  /** Slots that its executors keep free for critical runs. */
  spare: number
  /** Runs that may be held in all: slots, and what is on the way to them. */
  capacity: number
  reserved: ClassShares['reserved']
  held: PerClass<number>
  /** Whether runs wait that want nothing but a slot. */
  waits: PerClass<boolean>
}

/** Slots that are reserved for a class and not in its hands. */
export const reservedFor = (
  of: QueueClass,
  { capacity, reserved, held }: Pick<ClassStanding, 'capacity' | 'reserved' | 'held'>,
): number => Math.max(0, Math.floor((capacity * reserved[of]) / 100) - held[of])

/**
 * How many slots a class may take now. First comes what is reserved for it, then what is idle and reserved for nobody who
 * waits. Ask in the order of the classes, with what was taken before in `held`, and again when some turned out to want less.
 * Critical runs get their spare slots though the pool is overfull; others leave them.
 */
export function roomOf(of: QueueClass, standing: ClassStanding): number {
  const { capacity, held, waits } = standing
  const spare = Math.max(0, standing.spare - held.critical)
  const free = capacity - held.critical - held.standard - held.bulk - (of === 'critical' ? 0 : spare)
  const others = queueClasses
    .filter((other) => other !== of && waits[other])
    .reduce((sum, other) => sum + reservedFor(other, standing), 0)
  const room = Math.max(Math.min(free, reservedFor(of, standing)), free - others)
  return Math.max(0, of === 'critical' ? Math.max(room, spare) : room)
}
