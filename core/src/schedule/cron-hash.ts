import { type CronExpression, type ParsedCron, parseCron } from './cron.ts'
import type { CronDialectName } from './cron-dialect.ts'
import type { CronField, CronItem, HashItem } from './cron-field.ts'
import { hash32 } from './spread.ts'

/** The expression with each `H` replaced by the value that is the seed's: the same for the same seed, for ever. */
export function resolveHash(cron: CronExpression, seed: string): CronExpression {
  if (!hasHash(cron)) return cron
  const { second, minute, hour, dayOfMonth, month, dayOfWeek } = cron.fields
  const resolve = (name: string, field: CronField): CronField => ({
    text: field.text,
    items: field.items.map((item, index) => resolveItem(item, `${seed} ${name} ${index}`)),
  })
  return {
    ...cron,
    fields: {
      ...cron.fields,
      second: resolve('second', second),
      minute: resolve('minute', minute),
      hour: resolve('hour', hour),
      dayOfMonth: resolve('dayOfMonth', dayOfMonth),
      month: resolve('month', month),
      dayOfWeek: resolve('dayOfWeek', dayOfWeek),
    },
  }
}

/** Parses the expression of a schedule and resolves its `H` for a seed. */
export function readCron(schedule: { cron: string; dialect?: CronDialectName | undefined }, seed = ''): ParsedCron {
  const parsed = parseCron(schedule.cron, { dialect: schedule.dialect, hasHash: true })
  return parsed.ok ? { ok: true, cron: resolveHash(parsed.cron, seed) } : parsed
}

/** Whether an expression leaves some of itself to a hash. */
export function hasHash(cron: CronExpression): boolean {
  return Object.values(cron.fields).some(({ items }) => items.some(({ kind }) => kind === 'hash'))
}

function resolveItem(item: CronItem, key: string): CronItem {
  if (item.kind !== 'hash') return item
  const { from, to, step }: HashItem = item
  const hash = hash32(key)
  if (step === 0) {
    const value = from + (hash % (to - from + 1))
    return { kind: 'range', from: value, to: value, step: 1 }
  }
  return { kind: 'range', from: from + (hash % step), to, step }
}
