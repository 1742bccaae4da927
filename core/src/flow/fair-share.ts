/** Somebody who has slots, and wants more of them. */
export interface Claimant {
  /** Says who it is, and who goes first when everything else is equal. */
  key: string
  weight: number
  /** Slots it has already; nobody takes them away. */
  used: number
  /** The most further slots that it could use; may be infinite. */
  wants: number
  /** Slots it was owed, or, below zero, given too early, when last slots had to be whole. */
  owed?: number
}

/**
 * Divides free slots among claimants: each goes to whoever would then have the least for its weight (max-min). Every slot
 * is given while somebody wants one, nobody gets more than it wants, and more slots never make anybody's share less.
 * The order of the claimants says nothing. Returns how many each gets, in the order they were given.
 */
export function fairShare(claimants: readonly Claimant[], slots: number): number[] {
  const granted = claimants.map(() => 0)
  const line = new Line(
    claimants.flatMap((claimant, index) =>
      claimant.wants >= 1 ? [{ index, claimant, level: levelAt(claimant, 1) }] : [],
    ),
  )
  for (let left = slots; left >= 1; left--) {
    const next = line.first()
    if (next === undefined) break
    const count = (granted[next.index] ?? 0) + 1
    granted[next.index] = count
    if (count + 1 <= next.claimant.wants) next.level = levelAt(next.claimant, count + 1)
    else next.level = Number.POSITIVE_INFINITY
    line.settle()
  }
  return granted
}

/** What a claimant would have for its weight with `count` slots more. */
const levelAt = ({ used, owed = 0, weight }: Claimant, count: number): number => (used + count - owed) / weight

/**
 * What would be fair if slots could be cut as fine as anybody liked: the shares that `fairShare` comes closest to with
 * whole ones.
 */
export function exactShare(claimants: readonly Claimant[], slots: number): number[] {
  const at = (level: number) => claimants.map(({ used, wants, weight }) => clamp(level * weight - used, 0, wants))
  const total = Math.min(slots, sum(claimants.map(({ wants }) => Math.max(0, wants))))
  let low = 0
  let high = Math.max(1, ...claimants.map(({ used, weight }) => (used + slots) / weight))
  // Halving a double this often leaves nothing to halve.
  for (let step = 0; step < 64; step++) {
    const middle = (low + high) / 2
    if (sum(at(middle)) < total) low = middle
    else high = middle
  }
  return at(high)
}

/**
 * What each is owed after a division: what was exact, and could not be given whole. Passed on to the next one, everybody
 * gets its share in time, were it less than one slot.
 */
export function owedAfter(claimants: readonly Claimant[], granted: readonly number[]): number[] {
  const exact = exactShare(claimants, sum(granted))
  return claimants.map(({ owed = 0 }, index) => clamp(owed + (exact[index] ?? 0) - (granted[index] ?? 0), -1, 1))
}

/**
 * How even shares are that should all be alike, between 1/n (one has everything) and 1 (Jain's index). Of nobody: 1.
 */
export function jainIndex(shares: readonly number[]): number {
  const squares = sum(shares.map((share) => share * share))
  return squares === 0 ? 1 : sum(shares) ** 2 / (shares.length * squares)
}

const clamp = (value: number, least: number, most: number): number => Math.max(least, Math.min(most, value))
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

interface Place {
  index: number
  claimant: Claimant
  level: number
}

/** A heap of those who want more: the one with the least comes first. */
class Line {
  readonly #places: Place[]

  constructor(places: Place[]) {
    this.#places = places.toSorted((one, other) => (isBefore(one, other) ? -1 : 1))
  }

  first(): Place | undefined {
    const first = this.#places[0]
    return first === undefined || first.level === Number.POSITIVE_INFINITY ? undefined : first
  }

  /** Puts the first one, which has more by now, where it belongs. */
  settle(): void {
    const places = this.#places
    const moved = places[0]
    if (moved === undefined) return
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      let least = places[child]
      const right = places[child + 1]
      if (least !== undefined && right !== undefined && isBefore(right, least)) {
        child += 1
        least = right
      }
      if (least === undefined || !isBefore(least, moved)) break
      places[at] = least
      at = child
    }
    places[at] = moved
  }
}

const isBefore = (one: Place, other: Place): boolean =>
  one.level === other.level ? one.claimant.key < other.claimant.key : one.level < other.level
