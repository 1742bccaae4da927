import { type Program, startProgram } from './program.ts'

/** One request that reached the receiver. Instants of the machine's clock, which is the database's clock too. */
export interface ReceivedRequest {
  label: string
  path: string
  run: string
  attempt: number
  /** How often this receiver has now seen this run, attempts that nobody recorded included. */
  tries: number
  fence: string | undefined
  nominalAt: string | undefined
  dueAt: string | undefined
  idempotencyKey: string | undefined
  /** Wall clock, in milliseconds since 1970 with a fraction, when the request's head had come in. */
  receivedAtMs: number
  monotonicMs: number
}

/** The receiver process and what it has seen. */
export interface Receiver {
  readonly pid: number
  /** An URL that behaves as `behaviour` says: `ok`, `slow/200`, `fail/2`, `hang`, `retry-after/1/1`, `status/404`, ... */
  url(label: string, behaviour: string): string
  /** Every request with this label, in the order of arrival. */
  requests(label: string): Promise<ReceivedRequest[]>
  count(label: string): Promise<number>
  /** Forgets the requests with this label. The log file keeps them. */
  forget(label: string): Promise<void>
  stop(): Promise<void>
}

/** Starts a receiver on a free port of the loopback address; with `log`, every request is appended to that file. */
export async function startReceiver({ log }: { log?: string } = {}): Promise<Receiver> {
  const args = log === undefined ? [] : ['--log', log]
  return receiverOf(await startProgram(new URL('./receiver-server.ts', import.meta.url), args))
}

/** Starts one that can do nothing but `ok`, and does it for as little as it can. */
export async function startStopwatch(): Promise<Receiver> {
  return receiverOf(await startProgram(new URL('./stopwatch-server.ts', import.meta.url), []))
}

function receiverOf(program: Program): Receiver {
  const origin = `http://127.0.0.1:${String(program.ready.port)}`
  const control = `http://127.0.0.1:${String(program.ready.controlPort)}`
  const query = (label: string) => `?label=${encodeURIComponent(label)}`
  return {
    pid: program.pid,
    url: (label, behaviour) => `${origin}/${label}/${behaviour}`,
    requests: async (label) => {
      const response = await fetch(`${control}/requests${query(label)}`)
      return (await response.json()) as ReceivedRequest[]
    },
    count: async (label) => {
      const response = await fetch(`${control}/count${query(label)}`)
      return ((await response.json()) as { count: number }).count
    },
    forget: async (label) => {
      await fetch(`${control}/requests${query(label)}`, { method: 'DELETE' })
    },
    stop: program.stop,
  }
}
