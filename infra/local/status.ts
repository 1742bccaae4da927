import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './arguments.ts'
import { type Home, openHome, readJson } from './home.ts'
import { answers } from './processes.ts'
import { say } from './progress.ts'
import type { Secrets } from './secrets.ts'
import { projectSlug, type Role, type StackUrls, seededPeople, tenantSlug } from './stack.ts'
import { findSupervisor } from './supervisor.ts'

/** What a program may rely on to find a running stack and to use it. */
export interface Status {
  ready: boolean
  urls: Partial<StackUrls>
  apiKey: string | null
  tenant: string
  project: string
  people: { email: string; password: string; role: Role }[]
}

/** `./meridian status [--json]`: what runs, where, and how to sign in. Its code is 0 when the stack is ready. */
export async function status(args: readonly string[]): Promise<number> {
  const { values } = readArguments(args, { json: { type: 'boolean', default: false } })
  const current = await readStatus(openHome())
  if (values.json) process.stdout.write(`${JSON.stringify(current)}\n`)
  else if (current.urls.api === undefined) say('Meridian is not running; ./meridian up starts it.')
  else process.stdout.write(describe(current))
  return current.ready ? 0 : 1
}

/** The state of a home's stack. It is ready when `up` said so and both doors answer right now. */
export async function readStatus(home: Home): Promise<Status> {
  const supervisor = findSupervisor(home)
  const urls: Partial<StackUrls> = supervisor?.urls ?? {}
  const secrets = readSecrets(home)
  const doors = [`${urls.api}/ready`, `${urls.console}/healthz`]
  return {
    ready: supervisor?.ready === true && (await Promise.all(doors.map(answers))).every(Boolean),
    urls,
    apiKey: secrets?.apiKey ?? null,
    tenant: tenantSlug,
    project: projectSlug,
    people:
      secrets && supervisor?.hasSeededPeople !== false
        ? seededPeople.map(({ email, role }) => ({ email, password: secrets.passwords[role], role }))
        : [],
  }
}

const readSecrets = (home: Home): Secrets | undefined => {
  const file = join(home.path, 'secrets.json')
  return existsSync(file) ? readJson<Secrets>(file) : undefined
}

/** The one table that a person needs. */
export function describe({ ready, urls, apiKey, tenant, project, people }: Status): string {
  const rows: [string, string][] = [
    ['Console', urls.console ?? ''],
    ['API', urls.api ?? ''],
    ['API reference', `${urls.api}/docs`],
    ['Identity', urls.identity ?? ''],
    ['Mail', urls.mail || 'sent by your own server'],
    ['Object store', urls.objects ?? ''],
    ['Demo target', urls.demoTarget ?? ''],
    ['', ''],
    ...people.map(({ role, email, password }): [string, string] => [`Sign in as ${role}`, `${email}  ${password}`]),
    ['API key', `${apiKey}  (tenant ${tenant}, project ${project})`],
  ]
  const width = Math.max(...rows.map(([label]) => label.length)) + 2
  const lines = rows.map(([label, value]) => `  ${label.padEnd(width)}${value}`.trimEnd())
  return `\nMeridian ${ready ? 'is ready' : 'is not ready'}\n\n${lines.join('\n')}\n\n`
}
