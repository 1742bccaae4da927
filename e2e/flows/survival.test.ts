import { afterAll, expect, test } from 'vitest'
import { sleep, waitFor } from '../wait.ts'
import { Person } from './person.ts'

const person = await Person.meet()
afterAll(() => person.leave())

test.each(['api', 'engine', 'executor', 'redis', 'postgres'])('killing %s once loses nothing', async (name) => {
  const ids: string[] = []
  const accept = async () => {
    const dueAt = new Date(Date.now() + 300).toISOString()
    ids.push((await person.run('slow/100', { dueAt })).id)
  }
  for (let index = 0; index < 20; index += 1) await accept()
  const [victim] = person.stack.pids(name)
  expect(victim).toBeDefined()
  process.kill(victim ?? 0, 'SIGKILL')
  await waitFor(`${name} to be back`, () => person.stack.pids(name).some((pid) => pid !== victim))
  await waitFor('the API to be ready', async () => (await person.api.send('GET', '/ready')).status === 200)
  for (let index = 0; index < 5; index += 1) await accept()
  await sleep(300)
  const ends = await Promise.all(ids.map((id) => person.ended(id, 40_000)))
  expect(ends.filter(({ status }) => status !== 'succeeded')).toEqual([])
  const calls = await Promise.all(ids.map((id) => person.calls(id)))
  expect(calls.filter((of) => of.length === 0)).toEqual([])
})
