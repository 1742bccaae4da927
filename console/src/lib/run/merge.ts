interface HasId {
  id: string
}

/**
 * What a growing list shows: the fresh first page as it is, then what is known to be older. Rows that new ones have
 * pushed off the first page stay; rows that left it because they no longer match go. Ids sort by age.
 */
export function mergeRows<Row extends HasId>(fresh: readonly Row[], known: readonly Row[], freshIsAll: boolean): Row[] {
  const oldest = fresh.at(-1)
  if (freshIsAll || !oldest) return [...fresh]
  const older = known.filter((row) => row.id < oldest.id)
  const unique = new Map([...fresh, ...older].map((row) => [row.id, row]))
  return [...unique.values()].toSorted((one, other) => (one.id < other.id ? 1 : -1))
}
