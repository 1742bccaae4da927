import { readJson } from './home.ts'

/** What a suite of tests came to. */
export interface SuiteReport {
  passed: number
  skipped: number
  failures: Failure[]
  /** Tests that failed first and passed at a second try, with how they failed. They count as passed. */
  unsteady?: Failure[]
}

export interface Failure {
  name: string
  message: string
}

interface VitestJson {
  numPassedTests: number
  numPendingTests: number
  testResults: {
    name: string
    status: string
    message?: string
    assertionResults: { fullName: string; status: string; failureMessages?: string[] }[]
  }[]
}

/** Reads what vitest's JSON reporter wrote; undefined when it wrote nothing. A file that can't be loaded is a failure. */
export function readVitestReport(file: string): SuiteReport | undefined {
  const json = readJson<VitestJson>(file)
  if (!json) return undefined
  const failures = json.testResults.flatMap((result) => {
    const tests = result.assertionResults.filter(({ status }) => status === 'failed')
    if (tests.length === 0 && result.status === 'failed') return [{ name: result.name, message: result.message ?? '' }]
    return tests.map(({ fullName, failureMessages = [] }) => ({ name: fullName, message: failureMessages.join('\n') }))
  })
  return { passed: json.numPassedTests, skipped: json.numPendingTests, failures }
}

interface PlaywrightSuite {
  suites?: PlaywrightSuite[]
  specs?: { title: string; file: string; tests: { results: { error?: { message?: string } }[]; status: string }[] }[]
}
interface PlaywrightJson extends PlaywrightSuite {
  stats: { expected: number; skipped: number; unexpected: number; flaky: number }
  errors: { message?: string }[]
}

/** Reads what Playwright's JSON reporter wrote. */
export function readPlaywrightReport(file: string): SuiteReport | undefined {
  const json = readJson<PlaywrightJson>(file)
  if (!json) return undefined
  const specs = (suite: PlaywrightSuite): NonNullable<PlaywrightSuite['specs']> => [
    ...(suite.specs ?? []),
    ...(suite.suites ?? []).flatMap(specs),
  ]
  const all = specs(json)
  const thatWere = (verdict: string): Failure[] =>
    all.flatMap(({ title, file: source, tests }) =>
      tests
        .filter(({ status }) => status === verdict)
        .map(({ results }) => ({
          name: `${source} > ${title}`,
          message: results.map(({ error }) => error?.message ?? '').find(Boolean) ?? '',
        })),
    )
  const broken = json.errors.map(({ message = '' }) => ({ name: 'playwright', message }))
  return {
    passed: json.stats.expected + json.stats.flaky,
    skipped: json.stats.skipped,
    failures: [...thatWere('unexpected'), ...broken],
    unsteady: thatWere('flaky'),
  }
}

/**
 * Reads what a program prints that sums up itself: `FAIL  <name>` and what went wrong below it, and as its last line
 * `N passed, N failed`. Without that line it did not come to its end.
 */
export function readSummary(output: string): SuiteReport | undefined {
  const lines = output.trimEnd().split('\n')
  const [, passed, failed] = /^(\d+) passed, (\d+) failed$/.exec(lines.at(-1)?.trim() ?? '') ?? []
  if (passed === undefined) return undefined
  const failures: Failure[] = []
  let current: Failure | undefined
  for (const line of lines.slice(0, -1)) {
    const [, verdict, name = ''] = /^(ok|FAIL) +(.*)/.exec(line) ?? []
    if (verdict === undefined) {
      if (current) current.message += `${line}\n`
      continue
    }
    current = verdict === 'FAIL' ? { name, message: '' } : undefined
    if (current) failures.push(current)
  }
  while (failures.length < Number(failed)) failures.push({ name: 'a test that was not named', message: '' })
  return { passed: Number(passed), skipped: 0, failures }
}
