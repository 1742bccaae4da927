import { join } from 'node:path'
import { runCommand } from './command.ts'
import { root } from './home.ts'
import { Refusal, step } from './progress.ts'

/** `./meridian gen`: openapi.json from the routes, then the SDK from openapi.json. */
export async function gen(): Promise<number> {
  await generate('openapi.json', 'api')
  await generate('the SDK', 'sdk-ts')
  return 0
}

async function generate(label: string, folder: string): Promise<void> {
  const result = await step(label, () => runCommand('pnpm', ['run', 'gen'], { cwd: join(root, folder) }))
  if (!result.ok) throw new Refusal(`${label} can't be generated (${result.ending}):\n${result.output}`)
}
