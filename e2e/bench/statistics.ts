/** The value in the middle; the mean of both when there are two. NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** How much y grows with each unit of x, by least squares. NaN of less than two points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const meanOf = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [meanX, meanY] = [meanOf(0), meanOf(1)]
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0)
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
}

/** The smallest value that at least `percent` % of the values do not exceed. NaN of nothing. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = Float64Array.from(values).sort()
  const index = Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)
  return sorted[index] ?? Number.NaN
}
