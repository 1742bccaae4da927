import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from './command.ts'

const main = join(import.meta.dirname, 'main.ts')
// Whatever is wrong with its arguments, a command must not begin.
const meridian = (...args: string[]) => runCommand(process.execPath, [main, ...args])

test.each([
  ['up', '--nonsense', "Unknown option '--nonsense'."],
  ['down', '--nonsense', "Unknown option '--nonsense'."],
  ['status', '--jsn', "Unknown option '--jsn'."],
  ['test', '--nonsense', "Unknown option '--nonsense'."],
  ['test', 'nonsense', 'There is no suite nonsense;'],
  ['verify', '--fix', "Unknown option '--fix'."],
  ['gen', 'nonsense', "Unexpected argument 'nonsense'."],
  ['reset', '--nonsense', "Unknown option '--nonsense'."],
  ['e2e', '--nonsense', "Unknown option '--nonsense'."],
  ['e2e', 'R999', 'There is no test R999.'],
  ['chaos', '--profile=mild', 'There is no profile mild.'],
  ['bench', '--nonsense', "Unknown option '--nonsense'."],
  ['bench', 'nonsense', 'There is no benchmark nonsense.'],
  ['bench', '--rounds=many', '--rounds must be a number of at least 1'],
])('%s %s ends with 2, a sentence and how it goes', async (command, argument, sentence) => {
  const { ending, output } = await meridian(command, argument)
  expect(ending).toContain('2')
  expect(output).toContain(sentence)
  expect(output).toContain(`usage: ./meridian ${command === 'chaos' ? 'e2e' : command}`)
  expect(output).not.toContain('    at ')
})

test.each(['up', 'down', 'status', 'test', 'verify', 'e2e', 'chaos', 'bench', 'gen', 'reset'])(
  '%s --help says how it goes and does nothing',
  async (command) => {
    const { ok, stdout } = await meridian(command, '--help')
    expect(ok).toBe(true)
    expect(stdout).toContain(`./meridian ${command}`)
  },
)
