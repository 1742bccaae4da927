import { randomUUID } from 'node:crypto'
import { Api } from '../api.ts'
import { percentile } from '../bench/statistics.ts'
import { sleep, waitFor } from '../wait.ts'
import { setCap } from './cap.ts'
import { makeHerd } from './herd.ts'
import { ensure, type Row } from './row.ts'

const cap = 50
const latenessMaxMs = 5_000
const answerMaxMs = 300
const jitterMs = 4_000

export const row: Row = {
  title: 'thousands of schedules at the same second under a cap: nobody waits long, the API answers, jitter spreads',
  async run(world) {
    const { tenantId, apiKey } = await world.secondTenant()
    const api = new Api(world.stack.urls.api ?? '', apiKey)
    const label = `herd-${randomUUID()}`
    const count = world.profile.pick(300, 10_000)
    const before = await setCap(world, tenantId, cap)
    try {
      const herd = await makeHerd(api, {
        count,
        url: world.receiver.url(label, 'ok'),
        name: label,
        more: (index) => (index % 2 === 0 ? {} : { jitter: `PT${jitterMs / 1_000}S` }),
      })
      await sleep(herd.atMs - Date.now() - 500)
      const answersMs = await askMeanwhile(api, herd.atMs + latenessMaxMs - Date.now())
      await waitFor('all of them to be called', async () => (await world.receiver.count(label)) >= count, {
        timeoutMs: 60_000,
      })
      const requests = await world.receiver.requests(label)
      ensure(requests.length === count, `${requests.length} calls for ${count} occurrences`)
      const latenessMs = requests.map(({ dueAt, receivedAtMs }) => receivedAtMs - Date.parse(dueAt ?? ''))
      ensure(Math.min(...latenessMs) >= 0, `one came ${-Math.min(...latenessMs)} ms early`)
      const late = percentile(latenessMs, 99)
      ensure(late < latenessMaxMs, `p99 of the lateness is ${late.toFixed(0)} ms`)
      const slow = percentile(answersMs, 99)
      ensure(slow < answerMaxMs, `p99 of the API's answers is ${slow.toFixed(0)} ms`)
      const spread = requests.map(({ dueAt, nominalAt }) => Date.parse(dueAt ?? '') - Date.parse(nominalAt ?? ''))
      assertSpread(spread, count / 2)
      await herd.remove()
    } finally {
      await setCap(world, tenantId, before)
      await api.close()
    }
  },
}

/** Half of them start on the second, the other half anywhere in their jitter. */
function assertSpread(delaysMs: readonly number[], half: number): void {
  const spread = delaysMs.filter((each) => each > 0)
  ensure(Math.abs(spread.length - half) <= half / 50, `${spread.length} were spread, not ${half}`)
  ensure(Math.max(...spread) <= jitterMs, `one was spread by ${Math.max(...spread)} ms`)
  for (let quarter = 0; quarter < 4; quarter++) {
    const inIt = spread.filter((each) => Math.min(3, Math.floor((each * 4) / jitterMs)) === quarter)
    ensure(inIt.length > half / 8, `only ${inIt.length} of ${half} fell into quarter ${quarter + 1} of their jitter`)
  }
}

/** How long the API takes for reads of this tenant, in milliseconds, asked steadily for a while. */
async function askMeanwhile(api: Api, forMs: number): Promise<number[]> {
  const answersMs: number[] = []
  const endMs = performance.now() + forMs
  while (performance.now() < endMs) {
    const started = performance.now()
    await api.ask('GET', '/v1/runs?limit=20')
    answersMs.push(performance.now() - started)
    await sleep(20)
  }
  return answersMs
}
