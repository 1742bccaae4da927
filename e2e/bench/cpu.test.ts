import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { sleep } from '../wait.ts'
import { coresUsed, readCpu } from './cpu.ts'

const spin = (milliseconds: number) =>
  `const end = performance.now() + ${milliseconds}; while (performance.now() < end);`

test('the CPU of a child counts for its group, while it lives and once it is reaped', async () => {
  const script = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(spin(400))}]); setTimeout(() => {}, 5000)`
  const parent = spawn(process.execPath, ['-e', script])
  await once(parent, 'spawn')
  const groups = { busy: [parent.pid ?? 0], idle: [] }
  const before = readCpu(groups)
  await sleep(1_200)
  const after = readCpu(groups)
  parent.kill()
  const seconds = (after.groups.busy ?? 0) - (before.groups.busy ?? 0)
  expect(seconds).toBeGreaterThan(0.3)
  expect(coresUsed(before, after).idle).toBe(0)
})

test('a process of its own group is not counted with its parent', async () => {
  const child = spawn(process.execPath, ['-e', spin(300)])
  await once(child, 'spawn')
  const groups = { parent: [process.pid], child: [child.pid ?? 0] }
  const before = readCpu(groups)
  await sleep(250)
  const after = readCpu(groups)
  child.kill()
  const used = (name: string) => (after.groups[name] ?? 0) - (before.groups[name] ?? 0)
  expect(used('child')).toBeGreaterThan(0.05)
  expect(used('parent')).toBeLessThan(used('child'))
})
