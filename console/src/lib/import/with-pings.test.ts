import type { ImportEntry } from '@meridian/sdk'
import { expect, test } from 'vitest'
import { withPings } from './with-pings.ts'

const url = 'https://m.example/ping/mp_1'
const urls = new Map([['job_1', url]])
const lines = (text: string | null, format: 'crontab' | 'system-crontab' | 'temporal' = 'crontab') =>
  withPings(
    {
      format,
      notes: [{ line: 1, text: 'SHELL=/bin/sh', detail: '' }],
      entries: [{ line: 2, text, jobId: 'job_1' } as ImportEntry],
    },
    urls,
  )
const call = 'curl -fsS -m 10 --retry 3 -o /dev/null'

test('a line tells when it starts and how it ended', () => {
  expect(lines('5 4 * * * backup.sh --all')).toBe(
    `SHELL=/bin/sh\n5 4 * * * P=${url}; ${call} $P/start; backup.sh --all; ${call} $P/$?`,
  )
  expect(lines('@daily backup.sh')).toContain(`@daily P=${url}; ${call} $P/start; backup.sh;`)
})

test('the user of a system crontab stays where it was', () => {
  expect(lines('5 4 * * * root backup.sh', 'system-crontab')).toContain(`5 4 * * * root P=${url};`)
})

test('standard input stays at the end, and an escaped percent in the command', () => {
  expect(lines('5 4 * * * mail -s x%hello%you')).toMatch(/mail -s x; curl .* \$P\/\$\?%hello%you$/)
  expect(lines('5 4 * * * date +\\%F')).toContain('date +\\%F; curl')
})

test('a comment behind the command does not swallow the second ping', () => {
  expect(lines('5 4 * * * backup.sh # weekly')).toMatch(/ backup\.sh; curl .* \$P\/\$\?$/)
  expect(lines('5 4 * * * echo "a # b"')).toContain('echo "a # b"; curl')
})

test('what became no job stays as it is', () => {
  const entry = (line: number, text: string, jobId: string | null) => ({ line, text, jobId }) as ImportEntry
  const entries = [entry(1, '@reboot start.sh', null), entry(2, '@daily backup.sh', 'job_1')]
  const [first, second] = (withPings({ format: 'crontab', notes: [], entries }, urls) ?? '').split('\n')
  expect(first).toBe('@reboot start.sh')
  expect(second).toContain('/start; backup.sh;')
})

test('there are none for what is no crontab, and for who may not see its lines', () => {
  expect(lines('x', 'temporal')).toBeNull()
  expect(lines(null)).toBeNull()
})
