/**
 * The target of benchmarks that ask when a call came: `node e2e/stopwatch-server.ts`.
 *
 * It answers every request to `/<label>/...` with 200, and keeps its head as the bytes that came, with the instant. What
 * its parser and its garbage collector take would be read as lateness of whoever calls, so it does next to nothing until
 * it is asked; a server of `node:http` takes twice as much, and stands still for 20 ms and more now and then.
 */
import { createServer, type Socket } from 'node:net'
import type { ReceivedRequest } from './receiver.ts'
import { createControl, listen, type RequestLog } from './receiver-control.ts'

const slabBytes = 4 * 1_024 * 1_024

/** Heads of requests one after the other, in few large pieces of memory that no collector has to look at. */
class Heads {
  readonly #slabs: Buffer[] = []
  #used = slabBytes
  readonly #places: { slab: number[]; from: number[]; to: number[] } = { slab: [], from: [], to: [] }
  readonly #instants: { wallMs: number[]; monotonicMs: number[] } = { wallMs: [], monotonicMs: [] }

  get count(): number {
    return this.#instants.wallMs.length
  }

  add(head: Buffer, wallMs: number, monotonicMs: number): void {
    if (this.#used + head.length > slabBytes) {
      this.#slabs.push(Buffer.allocUnsafeSlow(slabBytes))
      this.#used = 0
    }
    const slab = this.#slabs.length - 1
    head.copy(this.#slabs[slab] as Buffer, this.#used)
    this.#places.slab.push(slab)
    this.#places.from.push(this.#used)
    this.#used += head.length
    this.#places.to.push(this.#used)
    this.#instants.wallMs.push(wallMs)
    this.#instants.monotonicMs.push(monotonicMs)
  }

  read(label: string): ReceivedRequest[] {
    const tries = new Map<string, number>()
    const { slab, from, to } = this.#places
    return this.#instants.wallMs.map((receivedAtMs, index) => {
      const head = this.#slabs[slab[index] ?? 0]?.toString('latin1', from[index], to[index]) ?? ''
      const header = (name: string) => new RegExp(`\r\n${name}: *([^\r]*)`, 'i').exec(head)?.[1]
      const run = header('meridian-run-id') ?? header('x-run') ?? ''
      const nth = (tries.get(run) ?? 0) + 1
      tries.set(run, nth)
      return {
        label,
        path: head.split(' ', 2)[1] ?? '/',
        run,
        attempt: Number(header('meridian-attempt') ?? nth),
        tries: nth,
        fence: header('meridian-fence'),
        nominalAt: header('meridian-nominal-at'),
        dueAt: header('meridian-due-at'),
        idempotencyKey: header('idempotency-key'),
        receivedAtMs,
        monotonicMs: this.#instants.monotonicMs[index] ?? 0,
      }
    })
  }
}

const heads = new Map<string, Heads>()
const log: RequestLog = {
  count: (label) =>
    (label === null ? [...heads.values()] : [heads.get(label)]).reduce((sum, each) => sum + (each?.count ?? 0), 0),
  read: (label) =>
    [...heads].filter(([key]) => label === null || key === label).flatMap(([key, each]) => each.read(key)),
  forget: (label) => (label === null ? heads.clear() : void heads.delete(label)),
}

function note(head: Buffer): void {
  const slash = head.indexOf('/')
  const label = head.toString('latin1', slash + 1, head.indexOf('/', slash + 1))
  const ofLabel = heads.get(label) ?? new Heads()
  heads.set(label, ofLabel)
  ofLabel.add(head, Number(Temporal.Now.instant().epochNanoseconds / 1_000n) / 1_000, performance.now())
}

const headEnd = Buffer.from('\r\n\r\n')
const lengthName = Buffer.from('content-length: ')
const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n{"received":true}',
)

/** The length of the body that a head announces, as undici writes it. */
function bodyLength(head: Buffer): number {
  const at = head.indexOf(lengthName)
  return at === -1
    ? 0
    : Number.parseInt(head.toString('latin1', at + lengthName.length, at + lengthName.length + 12), 10)
}

function serve(socket: Socket): void {
  let rest: Buffer | null = null
  let bodyLeft = 0
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    const data = rest === null ? chunk : Buffer.concat([rest, chunk])
    let at = 0
    for (;;) {
      const skipped = Math.min(bodyLeft, data.length - at)
      at += skipped
      bodyLeft -= skipped
      if (skipped > 0 && bodyLeft === 0) socket.write(answer)
      const end = bodyLeft > 0 ? -1 : data.indexOf(headEnd, at)
      if (end === -1) break
      const head = data.subarray(at, end)
      note(head)
      bodyLeft = bodyLength(head)
      at = end + headEnd.length
      if (bodyLeft === 0) socket.write(answer)
    }
    rest = at < data.length ? data.subarray(at) : null
  })
}

process.on('SIGTERM', () => process.exit(0))
const ready = { port: await listen(createServer(serve)), controlPort: await listen(createControl(log)) }
process.stdout.write(`${JSON.stringify(ready)}\n`)
