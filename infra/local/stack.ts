import type { Home } from './home.ts'
import type { Ports, portNames } from './ports.ts'
import { postgresUrls } from './postgres.ts'
import { Refusal } from './progress.ts'
import { keepKeyFile, type Secrets } from './secrets.ts'

export type Role = 'owner' | 'operator' | 'viewer'

export interface Person {
  subject: string
  email: string
  name: string
  role: Role
}

/** Everything a stack is made of, decided before anything starts: addresses, and what each program is told. */
export interface Stack {
  home: Home
  ports: Ports
  secrets: Secrets
  urls: StackUrls
  /** Which services this stack runs itself; the others are named by the environment. */
  runs: Record<Service, boolean>
  /** What api, workers and console all find in their environment. */
  environment: Record<string, string>
  ownerDatabaseUrl: string
  /** The issuer of the people's identities. */
  issuer: string
  people: Person[]
}

export interface StackUrls {
  api: string
  console: string
  identity: string
  mail: string
  objects: string
  demoTarget: string
}

export type Service = 'postgres' | 'redis' | 'identity' | 'mail' | 'objects'

export const tenantSlug = 'acme'
export const projectSlug = 'billing'
export const bucket = 'meridian'

export const seededPeople: readonly Person[] = [
  { subject: 'person-owner', email: 'owner@acme.test', name: 'Olive Owner', role: 'owner' },
  { subject: 'person-operator', email: 'operator@acme.test', name: 'Oscar Operator', role: 'operator' },
  { subject: 'person-viewer', email: 'viewer@acme.test', name: 'Vera Viewer', role: 'viewer' },
]

/** Decides what a stack runs and where. A service that `given` (the environment) names is used and not started. */
export function planStack(
  home: Home,
  ports: Ports,
  secrets: Secrets,
  given: Readonly<Record<string, string | undefined>> = process.env,
): Stack {
  const runs = {
    postgres: !given.DATABASE_URL,
    redis: !given.REDIS_URL,
    identity: !given.OIDC_ISSUER,
    mail: !given.SMTP_URL,
    objects: !given.OBJECT_STORE_URL,
  }
  const local = (name: (typeof portNames)[number]): string => `http://127.0.0.1:${ports[name]}`
  const issuer = given.OIDC_ISSUER || local('identity')
  const urls = {
    api: local('api'),
    console: local('console'),
    identity: issuer,
    mail: runs.mail ? local('mail') : '',
    objects: given.OBJECT_STORE_URL || local('objects'),
    demoTarget: local('demoTarget'),
  }
  const databases = databaseUrls(ports, secrets, given)
  return {
    home,
    ports,
    secrets,
    urls,
    runs,
    issuer,
    ownerDatabaseUrl: databases.OWNER_DATABASE_URL,
    people: runs.identity ? [...seededPeople] : givenOwner(given),
    environment: {
      ...databases,
      REDIS_URL: given.REDIS_URL || `redis://127.0.0.1:${ports.redis}`,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: given.OIDC_CLIENT_ID || 'meridian-console',
      OIDC_CLIENT_SECRET: given.OIDC_CLIENT_SECRET ?? (runs.identity ? secrets.oidcClientSecret : ''),
      KEY_FILE: given.KEY_FILE || keepKeyFile(home),
      TZDATA_FOLDER: given.TZDATA_FOLDER || home.file('tzdata'),
      OBJECT_STORE_URL: urls.objects,
      OBJECT_STORE_BUCKET: given.OBJECT_STORE_BUCKET || bucket,
      OBJECT_STORE_ACCESS_KEY: given.OBJECT_STORE_ACCESS_KEY || secrets.objectStore.accessKey,
      OBJECT_STORE_SECRET_KEY: given.OBJECT_STORE_SECRET_KEY || secrets.objectStore.secretKey,
      SMTP_URL: given.SMTP_URL || `smtp://127.0.0.1:${ports.smtp}`,
      API_URL: urls.api,
      CONSOLE_URL: urls.console,
      HOST: '127.0.0.1',
      ALLOW_PRIVATE_TARGETS: given.ALLOW_PRIVATE_TARGETS || 'true',
      LOG_LEVEL: given.LOG_LEVEL || 'info',
    },
  }
}

function databaseUrls(ports: Ports, secrets: Secrets, given: Readonly<Record<string, string | undefined>>) {
  const { DATABASE_URL, ENGINE_DATABASE_URL, OWNER_DATABASE_URL } = given
  if (!DATABASE_URL) {
    const { app, engine, owner } = postgresUrls(ports.postgres, secrets.postgres)
    return { DATABASE_URL: app, ENGINE_DATABASE_URL: engine, OWNER_DATABASE_URL: owner }
  }
  if (!ENGINE_DATABASE_URL || !OWNER_DATABASE_URL) {
    throw new Refusal('DATABASE_URL needs ENGINE_DATABASE_URL (workers) and OWNER_DATABASE_URL (migrations) beside it')
  }
  return { DATABASE_URL, ENGINE_DATABASE_URL, OWNER_DATABASE_URL }
}

/** With a real identity provider somebody has to be the first owner. */
function givenOwner(given: Readonly<Record<string, string | undefined>>): Person[] {
  const { OIDC_OWNER_SUBJECT: subject, OIDC_OWNER_EMAIL: email } = given
  if (!subject || !email) {
    throw new Refusal('OIDC_ISSUER needs OIDC_OWNER_SUBJECT and OIDC_OWNER_EMAIL: the person who owns the demo tenant')
  }
  return [{ subject, email, name: email, role: 'owner' }]
}
