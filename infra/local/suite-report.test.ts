import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommand } from './command.ts'
import { remove, root, writeJson } from './home.ts'
import { readPlaywrightReport, readSummaryLine, readVitestReport } from './suite-report.ts'

const folder = mkdtempSync(join(tmpdir(), 'meridian-reports-'))
afterAll(() => remove(folder))

test('what vitest writes is counted, and a file that can not be loaded is a failure', async () => {
  const vitest = join(root, 'node_modules/vitest/dist/index.js')
  writeFileSync(
    join(folder, 'some.test.mjs'),
    `import { expect, test } from ${JSON.stringify(vitest)}
     test('holds', () => expect(1).toBe(1))
     test('breaks', () => expect(1).toBe(2))
     test.skip('waits', () => {})`,
  )
  writeFileSync(join(folder, 'broken.test.mjs'), "import './nowhere.mjs'")
  const report = join(folder, 'vitest.json')
  const args = ['run', '--root', folder, '--reporter=json', `--outputFile=${report}`]
  await runCommand(join(root, 'node_modules/.bin/vitest'), args, { cwd: folder })
  const result = readVitestReport(report)
  expect(result).toMatchObject({ passed: 1, skipped: 1 })
  expect(result?.failures.map(({ name }) => name).sort()).toEqual([join(folder, 'broken.test.mjs'), 'breaks'])
  expect(result?.failures.find(({ name }) => name === 'breaks')?.message).toContain('expected 1 to be 2')
})

test('a flaky browser test is a failure, and so is an error outside of any test', () => {
  const report = join(folder, 'playwright.json')
  const spec = (title: string, status: string, message?: string) => ({
    title,
    file: 'console.spec.ts',
    tests: [{ status, results: message === undefined ? [{}] : [{ error: { message } }, {}] }],
  })
  writeJson(report, {
    stats: { expected: 1, skipped: 2, unexpected: 1, flaky: 1 },
    suites: [
      { specs: [spec('signs in', 'expected')], suites: [{ specs: [spec('replays', 'unexpected', 'no such button')] }] },
      { specs: [spec('pauses', 'flaky', 'too late')] },
    ],
    errors: [{ message: 'the setup failed' }],
  })
  expect(readPlaywrightReport(report)).toEqual({
    passed: 1,
    skipped: 2,
    failures: [
      { name: 'console.spec.ts > replays', message: 'no such button' },
      { name: 'console.spec.ts > pauses', message: 'too late' },
      { name: 'playwright', message: 'the setup failed' },
    ],
  })
})

test('the last line of a program that sums up itself is read, and nothing else', () => {
  expect(readSummaryLine('R1 ok\nFAILED R2: late\n4 passed, 1 failed\n')).toEqual({
    passed: 4,
    skipped: 0,
    failures: [{ name: 'FAILED R2: late', message: '' }],
  })
  expect(readSummaryLine('4 passed, 1 failed\nTypeError: no\n')).toBeUndefined()
  expect(readVitestReport(join(folder, 'nothing.json'))).toBeUndefined()
})
