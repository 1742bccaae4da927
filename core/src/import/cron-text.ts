import { parseCron } from '../schedule/cron.ts'
import type { CronDialectName } from '../schedule/cron-dialect.ts'

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** A nickname written out, for dialects of ours that have none. */
export const toNickname = (text: string): string => nicknames[text.trim().toLowerCase()] ?? text

/** Whether an expression goes by real time, so that clock changes leave it alone. */
export function isInterval(text: string, dialect: CronDialectName): boolean {
  const parsed = parseCron(toNickname(text), { dialect })
  return parsed.ok && parsed.cron.followsRealTime
}
