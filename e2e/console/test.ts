import { randomUUID } from 'node:crypto'
import { Meridian } from '@meridian/sdk'
import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import { type Receiver, startReceiver } from '../receiver.ts'

export { expect }

export type Role = 'owner' | 'operator' | 'viewer'

interface Status {
  urls: Record<'api' | 'console' | 'identity', string>
  apiKey: string
  tenant: string
  project: string
  people: { email: string; password: string; role: Role }[]
}

type State = Awaited<ReturnType<BrowserContext['storageState']>>

/** What must not happen while a page is used, and what a test has reason to expect all the same. */
export interface Guard {
  expectError(pattern: RegExp): void
}

interface WorkerFixtures {
  status: Status
  sdk: Meridian
  receiver: Receiver
  stateOf: (role: Role) => Promise<State>
}

interface TestFixtures {
  /** Who is signed in. */
  role: Role | 'nobody'
  /** Keeps what this test makes apart from everything else. */
  label: string
  /** The path of the demo project. */
  base: string
  guard: Guard
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  status: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern
    async ({}, use) => {
      await use(JSON.parse(process.env.MERIDIAN_STATUS ?? '') as Status)
    },
    { scope: 'worker' },
  ],
  sdk: [
    async ({ status }, use) => {
      await use(new Meridian({ baseUrl: status.urls.api, apiKey: status.apiKey }))
    },
    { scope: 'worker' },
  ],
  receiver: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern
    async ({}, use) => {
      const receiver = await startReceiver()
      await use(receiver)
      await receiver.stop()
    },
    { scope: 'worker' },
  ],
  stateOf: [
    async ({ browser, status }, use) => {
      const states = new Map<Role, Promise<State>>()
      const signedIn = async (role: Role): Promise<State> => {
        const context = await browser.newContext({ baseURL: status.urls.console, timezoneId: 'Europe/Berlin' })
        await signIn(await context.newPage(), status, role)
        const state = await context.storageState()
        await context.close()
        return state
      }
      await use((role) => {
        const state = states.get(role) ?? signedIn(role)
        states.set(role, state)
        return state
      })
    },
    { scope: 'worker', timeout: 60_000 },
  ],
  role: ['owner', { option: true }],
  baseURL: async ({ status }, use) => {
    await use(status.urls.console)
  },
  storageState: async ({ role, stateOf }, use) => {
    await use(role === 'nobody' ? undefined : await stateOf(role))
  },
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern
  label: async ({}, use) => {
    await use(`browser-${randomUUID().slice(0, 8)}`)
  },
  base: async ({ status }, use) => {
    await use(`/${status.tenant}/${status.project}`)
  },
  guard: [
    async ({ context, status }, use) => {
      const expected: RegExp[] = []
      const faults: string[] = []
      const ours = new Set([status.urls.console, status.urls.identity].map((url) => new URL(url).origin))
      context.on('console', (message) => {
        if (message.type() === 'error') faults.push(`console: ${message.text()}`)
      })
      context.on('weberror', (error) => faults.push(`error: ${error.error().message}`))
      context.on('request', (request) => {
        const { origin, protocol } = new URL(request.url())
        if (protocol !== 'data:' && !ours.has(origin)) faults.push(`left the origin: ${request.url()}`)
      })
      await use({ expectError: (pattern) => expected.push(pattern) })
      expect(faults.filter((fault) => !expected.some((pattern) => pattern.test(fault)))).toEqual([])
    },
    { auto: true },
  ],
})

/** Opens a page and waits until its buttons answer. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path)
  await page.locator('html[data-ready]').waitFor()
}

/** Signs in the way a person does, from wherever the console sends them. */
export async function signIn(page: Page, status: Status, role: Role, path = '/'): Promise<void> {
  await page.goto(path)
  await page.getByRole('link', { name: 'Continue to sign in' }).click()
  await enterPassword(page, status, role)
  await page.waitForURL(`${status.urls.console}/**`)
  await page.locator('html[data-ready]').waitFor()
}

/** Fills the form of the identity provider. */
export async function enterPassword(page: Page, status: Status, role: Role): Promise<void> {
  const person = status.people.find((candidate) => candidate.role === role)
  if (!person) throw new Error(`nobody has the role ${role}`)
  await page.getByLabel('E-mail').fill(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
