import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommand } from './command.ts'
import { remove, root, writeJson } from './home.ts'
import { readPlaywrightReport, readSummary, readVitestReport } from './suite-report.ts'

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

test('a browser test that passes at a second try is named, and an error outside of any test is a failure', () => {
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
    passed: 2,
    skipped: 2,
    failures: [
      { name: 'console.spec.ts > replays', message: 'no such button' },
      { name: 'playwright', message: 'the setup failed' },
    ],
    unsteady: [{ name: 'console.spec.ts > pauses', message: 'too late' }],
  })
})

test('a program that sums up itself names its failures, and without its last line it has no result', () => {
  expect(
    readSummary('ok    R1  kills\nFAIL  R2  freezes (3.0 s)\nError: late\n  at R2.ts\nok    R3\n2 passed, 1 failed\n'),
  ).toEqual({
    passed: 2,
    skipped: 0,
    failures: [{ name: 'R2  freezes (3.0 s)', message: 'Error: late\n  at R2.ts\n' }],
  })
  expect(readSummary('2 passed, 2 failed')?.failures).toHaveLength(2)
  expect(readSummary('4 passed, 1 failed\nTypeError: no\n')).toBeUndefined()
  expect(readVitestReport(join(folder, 'nothing.json'))).toBeUndefined()
})
