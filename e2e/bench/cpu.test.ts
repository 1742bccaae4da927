import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { waitFor } from '../wait.ts'
import { coresUsed, readCpu } from './cpu.ts'

/** Uses that much CPU, however busy the machine is. */
const spin = (milliseconds: number) => `while (process.cpuUsage().user < ${milliseconds * 1_000});`

test('the CPU of a child counts for its group also once it is gone', async () => {
  const script = `
    require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(spin(400))}])
    console.log('reaped')
    setTimeout(() => {}, 60000)`
  const parent = spawn(process.execPath, ['-e', script])
  await once(parent, 'spawn')
  const groups = { busy: [parent.pid ?? 0], idle: [] }
  const before = readCpu(groups)
  await once(parent.stdout, 'data')
  const after = readCpu(groups)
  parent.kill()
  expect((after.groups.busy ?? 0) - (before.groups.busy ?? 0)).toBeGreaterThan(0.35)
  expect(coresUsed(before, after).idle).toBe(0)
})

test('a process of a group of its own is not counted with its parent', async () => {
  const child = spawn(process.execPath, ['-e', `${spin(400)} setTimeout(() => {}, 60000)`])
  await once(child, 'spawn')
  const groups = { parent: [process.pid], child: [child.pid ?? 0] }
  const before = readCpu(groups)
  const used = (name: string) => (readCpu(groups).groups[name] ?? 0) - (before.groups[name] ?? 0)
  await waitFor('the child to work', () => used('child') > 0.35, { timeoutMs: 20_000 })
  expect(used('parent')).toBeLessThan(0.35)
  child.kill()
})
