/** Which rows of a long list are worth drawing, and how much room the others take. */
export interface RowWindow {
  first: number
  /** One behind the last. */
  end: number
  before: number
  after: number
}

/** The rows in and around the visible part of a list that begins `top` pixels above the viewport's upper edge. */
export function rowWindow(
  { count, rowHeight, top, viewport }: { count: number; rowHeight: number; top: number; viewport: number },
  overscan = 20,
): RowWindow {
  const first = Math.min(Math.max(Math.floor(top / rowHeight) - overscan, 0), count)
  const end = Math.min(Math.max(Math.ceil((top + viewport) / rowHeight) + overscan, first), count)
  return { first, end, before: first * rowHeight, after: (count - end) * rowHeight }
}
