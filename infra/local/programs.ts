import { join, resolve } from 'node:path'
import { root } from './home.ts'
import type { IdentitySettings } from './identity.ts'
import type { MailSettings } from './mail.ts'
import type { ObjectsSettings } from './objects.ts'
import { answers, type ProcessSpec } from './processes.ts'
import { bucket, type Stack } from './stack.ts'

// Node keeps what it compiled, so that a second start costs half.
const compileCache = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node') }

const node = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [resolve(root, file), ...args],
  cwd: root,
})

const service = (name: string, file: string, settings: object, readyUrl: string): ProcessSpec => ({
  name,
  ...node(`infra/local/${file}`),
  env: { ...compileCache, SETTINGS: JSON.stringify(settings) },
  isReady: () => answers(readyUrl),
})

/** The identity provider with the seeded people. */
export function identityProgram(stack: Stack): ProcessSpec {
  const folder = stack.home.folder('identity')
  const settings: IdentitySettings = {
    port: stack.ports.identity,
    folder,
    cookieKey: stack.secrets.cookieKey,
    client: {
      id: 'meridian-console',
      secret: stack.secrets.oidcClientSecret,
      redirectUris: [`${stack.urls.console}/auth/callback`],
      postLogoutRedirectUris: [`${stack.urls.console}/login`],
    },
    people: stack.people.map((person) => ({ ...person, password: stack.secrets.passwords[person.role] })),
  }
  return service('identity', 'identity.ts', settings, `${stack.issuer}/.well-known/openid-configuration`)
}

/** The mail sink. */
export function mailProgram(stack: Stack): ProcessSpec {
  const { smtp: smtpPort, mail: webPort } = stack.ports
  const settings: MailSettings = { smtpPort, webPort, folder: stack.home.file('mail') }
  return service('mail', 'mail.ts', settings, `${stack.urls.mail}/messages`)
}

/** The object store. */
export function objectsProgram(stack: Stack): ProcessSpec {
  const settings: ObjectsSettings = { port: stack.ports.objects, folder: stack.home.file('objects'), bucket }
  return service('objects', 'objects.ts', settings, `${stack.urls.objects}/health`)
}

/** What the demo jobs call. */
export const demoTargetProgram = (stack: Stack): ProcessSpec => ({
  name: 'demo-target',
  ...node('infra/local/demo-target.ts'),
  env: { ...compileCache, PORT: String(stack.ports.demoTarget) },
  isReady: () => answers(`${stack.urls.demoTarget}/received`),
})

export const apiProgram = (stack: Stack): ProcessSpec => ({
  name: 'api',
  ...node('api/src/main.ts'),
  env: { ...compileCache, ...stack.environment, PORT: String(stack.ports.api) },
  isReady: () => answers(`${stack.urls.api}/ready`),
  // Many creates must not make late what is due.
  givesWay: true,
})

/** The roles that decide, in one process. */
export const engineProgram = (stack: Stack): ProcessSpec =>
  worker(stack, 'engine', 'scheduler,dispatcher,relay,reaper,janitor', stack.ports.engineMetrics)

/** The role that calls targets, in a process of its own: a slow target must not slow a decision. */
export const executorProgram = (stack: Stack): ProcessSpec =>
  worker(stack, 'executor', 'executor', stack.ports.executorMetrics)

/** The role that watches the others, in a process of its own: it must not fall with them. */
export const watchdogProgram = (stack: Stack): ProcessSpec =>
  worker(stack, 'watchdog', 'watchdog', stack.ports.watchdogMetrics)

const worker = (stack: Stack, name: string, roles: string, metricsPort: number): ProcessSpec => ({
  name,
  ...node('workers/src/main.ts', `--roles=${roles}`),
  // Names are looked up on threads: four slow look-ups must not hold up every other target's.
  env: { ...compileCache, ...stack.environment, METRICS_PORT: String(metricsPort), UV_THREADPOOL_SIZE: '16' },
  isReady: () => answers(`http://127.0.0.1:${metricsPort}/metrics`),
})

/** The console, from the build at `built`. */
export const consoleProgram = (stack: Stack, built: string): ProcessSpec => ({
  name: 'console',
  ...node(built),
  env: {
    ...compileCache,
    ...stack.environment,
    PORT: String(stack.ports.console),
    // Sessions are kept in files: the private Redis forgets everything, and people should stay signed in.
    REDIS_URL: '',
    SESSION_KEY: stack.secrets.sessionKey,
    SESSION_DIR: stack.home.file('console-sessions'),
    // A stream of live updates never ends by itself.
    SHUTDOWN_TIMEOUT: '1',
  },
  isReady: () => answers(`${stack.urls.console}/healthz`),
  givesWay: true,
})
