import type { Uuid } from '../kernel/ids.ts'
import { type QueueClass, queueClasses } from './classes.ts'
import { type Claimant, fairShare, owedAfter } from './fair-share.ts'

/** Where runs wait that are alike to admission: those of one queue, and of one lane where a key splits it. */
export interface Line {
  tenantId: Uuid
  queueId: Uuid
  laneId: Uuid | null
  tenantWeight: number
  /** Slots in use in the pool, of the whole tenant. */
  tenantUsed: number
  tenantMax: number
  queueWeight: number
  queueUsed: number
  queueMax: number
  used: number
  /** The most slots that it could use; infinite while nobody has counted. */
  wants: number
}

/** A line as the database tells of it. */
export type WireLine = [
  Uuid,
  Uuid,
  Uuid | null,
  ...numbers: [number, number, number, number, number, number, number, number | null],
]

export function toLine([tenantId, queueId, laneId, ...numbers]: WireLine): Line {
  const [tenantWeight, tenantUsed, tenantMax, queueWeight, queueUsed, queueMax, used, wants] = numbers
  const tenant = { tenantId, tenantWeight, tenantUsed, tenantMax }
  return {
    ...tenant,
    queueId,
    queueWeight,
    queueUsed,
    queueMax,
    laneId,
    used,
    wants: wants ?? Number.POSITIVE_INFINITY,
  }
}

/** One that tells the class of its queue as well: then what its tenant has and may have is meant in that class. */
export type ClassedLine = [...WireLine, queueClass: number]

/** Lines class by class. */
export function linesByClass(lines: readonly ClassedLine[]): Map<QueueClass, Line[]> {
  const found = Map.groupBy(lines, (line) => queueClasses[line[11]] ?? 'standard')
  return new Map([...found].map(([of, own]) => [of, own.map(([...line]) => toLine(line.slice(0, 11) as WireLine))]))
}

/** What claimants were owed after earlier divisions. It is a hint, and may be lost. */
export type Owed = Map<string, number>

const owedMax = 10_000

/**
 * Divides free slots among lines: among tenants by weight, what a tenant gets among its queues by weight, and what a queue
 * gets among its lanes alike. No queue and no tenant gets more than its concurrency. Returns what each line gets.
 */
export function shareLines(lines: readonly Line[], slots: number, owed: Owed): number[] {
  const shares = new Map<Line, number>()
  share(tenantsOf(lines), slots, owed, (tenant, forTenant) =>
    share(queuesOf(tenant.lines), forTenant, owed, (queue, forQueue) =>
      share(lanesOf(queue.lines), forQueue, owed, ({ lines: [line] }, count) => {
        if (line !== undefined) shares.set(line, count)
      }),
    ),
  )
  return lines.map((line) => shares.get(line) ?? 0)
}

/** How lines stand once `counts` were taken for `shares`: where less was, nobody waits any more. */
export function linesAfter(lines: readonly Line[], shares: readonly number[], counts: readonly number[]): Line[] {
  const byTenant = new Map<Uuid, number>()
  const byQueue = new Map<Uuid, number>()
  for (const [index, { tenantId, queueId }] of lines.entries()) {
    const count = counts[index] ?? 0
    byTenant.set(tenantId, (byTenant.get(tenantId) ?? 0) + count)
    byQueue.set(queueId, (byQueue.get(queueId) ?? 0) + count)
  }
  return lines.map((line, index) => {
    const count = counts[index] ?? 0
    return {
      ...line,
      tenantUsed: line.tenantUsed + (byTenant.get(line.tenantId) ?? 0),
      queueUsed: line.queueUsed + (byQueue.get(line.queueId) ?? 0),
      used: line.used + count,
      wants: count < (shares[index] ?? 0) ? 0 : line.wants - count,
    }
  })
}

/** Remembers what could not be given whole, by how lines stood before a division and after it. */
export function rememberOwed(before: readonly Line[], after: readonly Line[], owed: Owed): void {
  const granted = after.map(({ used }, index) => used - (before[index]?.used ?? 0))
  // By now it is known what each wanted in all.
  const known = before.map((line, index) => ({ ...line, wants: (granted[index] ?? 0) + (after[index]?.wants ?? 0) }))
  const counts = new Map(known.map((line, index) => [line, granted[index] ?? 0]))
  const remember = (groups: Group[]): void => {
    const got = groups.map(({ lines }) => lines.reduce((sum, line) => sum + (counts.get(line) ?? 0), 0))
    const owedNow = owedAfter(withOwed(groups, owed), got)
    for (const [index, { key, wants }] of groups.entries()) {
      // Set anew, so that who was divided among longest ago is forgotten first.
      owed.delete(key)
      if (wants > (got[index] ?? 0)) owed.set(key, owedNow[index] ?? 0)
    }
  }
  const tenants = tenantsOf(known)
  remember(tenants)
  for (const tenant of tenants) {
    const queues = queuesOf(tenant.lines)
    if (queues.length > 1) remember(queues)
    for (const queue of queues) if (queue.lines.length > 1) remember(lanesOf(queue.lines))
  }
  for (const key of owed.keys()) {
    if (owed.size <= owedMax) break
    owed.delete(key)
  }
}

interface Group extends Claimant {
  lines: Line[]
}

function share(groups: Group[], slots: number, owed: Owed, give: (group: Group, count: number) => void): void {
  const counts = fairShare(withOwed(groups, owed), slots)
  for (const [index, group] of groups.entries()) {
    const count = counts[index] ?? 0
    if (count > 0) give(group, count)
  }
}

const withOwed = (groups: Group[], owed: Owed): Group[] =>
  groups.map((group) => ({ ...group, owed: owed.get(group.key) ?? 0 }))

const groupsOf = (
  lines: readonly Line[],
  keyOf: (line: Line) => string,
  group: (lines: Line[]) => Omit<Group, 'key' | 'lines'>,
) => [...Map.groupBy(lines, keyOf)].map(([key, own]): Group => ({ ...group(own), key, lines: own }))

const total = (lines: readonly Line[]): number => lines.reduce((wanted, { wants }) => wanted + wants, 0)

export const lineKey = ({ queueId, laneId }: Pick<Line, 'queueId' | 'laneId'>): string => `${queueId} ${laneId ?? ''}`

const lanesOf = (lines: readonly Line[]): Group[] =>
  groupsOf(lines, lineKey, (own) => ({ weight: 1, used: own[0]?.used ?? 0, wants: total(own) }))

/** Lines queue by queue; what each could use, its limit minded. */
export const queuesOf = (lines: readonly Line[]): Group[] =>
  groupsOf(
    lines,
    ({ queueId }) => queueId,
    (own) => {
      const { queueWeight = 1, queueUsed = 0, queueMax = 0 } = own[0] ?? {}
      return { weight: queueWeight, used: queueUsed, wants: Math.max(0, Math.min(queueMax - queueUsed, total(own))) }
    },
  )

/** Lines tenant by tenant; what each could use, its limits and those of its queues minded. */
export const tenantsOf = (lines: readonly Line[]): Group[] =>
  groupsOf(
    lines,
    ({ tenantId }) => tenantId,
    (own) => {
      const { tenantWeight = 1, tenantUsed = 0, tenantMax = 0 } = own[0] ?? {}
      const wanted = queuesOf(own).reduce((sum, { wants }) => sum + wants, 0)
      return { weight: tenantWeight, used: tenantUsed, wants: Math.max(0, Math.min(tenantMax - tenantUsed, wanted)) }
    },
  )
