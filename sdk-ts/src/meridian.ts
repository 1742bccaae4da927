import { breakers } from './breakers.ts'
import * as calendarResources from './calendars.ts'
import { type CallOptions, type Connection, call, value } from './connection.ts'
import { type EventStreamOptions, type StreamedEvent, streamEvents } from './event-stream.ts'
import { createClient, createConfig } from './generated/client/index.ts'
import * as api from './generated/sdk.gen.ts'
import * as importResources from './imports.ts'
import * as resources from './resources.ts'
import { createTransport } from './transport.ts'

export interface MeridianOptions {
  /** Where the API is, such as `https://api.example.com`. */
  baseUrl: string
  /** An API key (`mk_…`). */
  apiKey?: string | undefined
  /** A session token (`ms_…`) instead; name the project, too. */
  token?: string | undefined
  /** The project a session works in (`prj_…`). */
  projectId?: string | undefined
  /** How long one try may take: 30 seconds. */
  timeoutMs?: number | undefined
  /** How many further tries a request gets where that is safe: 3. */
  retries?: number | undefined
  /** A server that asks to wait longer than this is told to the caller instead: a minute. */
  patienceMs?: number | undefined
  fetch?: typeof fetch | undefined
}

const timeoutDefaultMs = 30_000
const retriesDefault = 3
const patienceDefaultMs = 60_000

/** The Meridian API, with one credential. */
export class Meridian {
  readonly jobs: ReturnType<typeof resources.jobs>
  readonly runs: ReturnType<typeof resources.runs>
  readonly schedules: ReturnType<typeof resources.schedules>
  readonly targets: ReturnType<typeof resources.targets>
  readonly calendars: ReturnType<typeof calendarResources.calendars>
  readonly blackouts: ReturnType<typeof calendarResources.blackouts>
  readonly deadLetters: ReturnType<typeof resources.deadLetters>
  readonly operations: ReturnType<typeof resources.operations>
  readonly imports: ReturnType<typeof importResources.imports>
  readonly pings: ReturnType<typeof importResources.pings>
  readonly forecast: ReturnType<typeof calendarResources.forecast>
  readonly timeZoneData: ReturnType<typeof calendarResources.timeZoneData>
  readonly testClocks: ReturnType<typeof resources.testClocks>
  readonly queues: ReturnType<typeof resources.queues>
  readonly breakers: ReturnType<typeof breakers>
  readonly limits: ReturnType<typeof resources.limits>
  readonly projects: ReturnType<typeof resources.projects>
  readonly keys: ReturnType<typeof resources.keys>
  readonly sessions: ReturnType<typeof resources.sessions>
  readonly stats: ReturnType<typeof resources.stats>
  readonly alarms: ReturnType<typeof resources.alarms>
  readonly events: {
    /** The project's events as they happen; it comes back by itself when the connection ends. */
    stream(options?: EventStreamOptions): AsyncGenerator<StreamedEvent, void, undefined>
  }
  readonly #connection: Connection

  constructor(options: MeridianOptions) {
    const baseUrl = options.baseUrl.replace(/\/+$/, '')
    const plainFetch = options.fetch ?? globalThis.fetch.bind(globalThis)
    const credential = options.apiKey ?? options.token
    const headers = {
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...(options.projectId === undefined ? {} : { 'meridian-project': options.projectId }),
    }
    const transport = createTransport({
      fetch: plainFetch,
      timeoutMs: options.timeoutMs ?? timeoutDefaultMs,
      retries: options.retries ?? retriesDefault,
      patienceMs: options.patienceMs ?? patienceDefaultMs,
    })
    const to: Connection = {
      client: createClient(createConfig({ baseUrl, headers, fetch: transport, throwOnError: true })),
    }
    this.#connection = to
    this.jobs = resources.jobs(to)
    this.runs = resources.runs(to)
    this.schedules = resources.schedules(to)
    this.targets = resources.targets(to)
    this.calendars = calendarResources.calendars(to)
    this.blackouts = calendarResources.blackouts(to)
    this.deadLetters = resources.deadLetters(to)
    this.operations = resources.operations(to)
    this.imports = importResources.imports(to)
    this.pings = importResources.pings(to)
    this.forecast = calendarResources.forecast(to)
    this.timeZoneData = calendarResources.timeZoneData(to)
    this.testClocks = resources.testClocks(to)
    this.queues = resources.queues(to)
    this.breakers = breakers(to)
    this.limits = resources.limits(to)
    this.projects = resources.projects(to)
    this.keys = resources.keys(to)
    this.sessions = resources.sessions(to)
    this.stats = resources.stats(to)
    this.alarms = resources.alarms(to)
    const source = { url: `${baseUrl}/v1/events/stream`, headers, fetch: plainFetch }
    this.events = { stream: (streamOptions = {}) => streamEvents(source, streamOptions) }
  }

  /** Who this credential belongs to, and where it may go. */
  me(options?: CallOptions) {
    return value(api.getMe(call(this.#connection, options)))
  }

  /** Versions of the installation. */
  system(options?: CallOptions) {
    return value(api.getSystem(call(this.#connection, options)))
  }
}
