import { once } from 'node:events'
import { createServer } from 'node:net'
import { type Home, readJson, writeJson } from './home.ts'

export const portNames = [
  'api',
  'console',
  'identity',
  'mail',
  'smtp',
  'objects',
  'demoTarget',
  'postgres',
  'redis',
  'engineMetrics',
  'executorMetrics',
  'watchdogMetrics',
] as const
export type PortName = (typeof portNames)[number]
export type Ports = Record<PortName, number>

// Below the range from which systems give ports to outgoing connections (32768 and up): while a service is
// down for a moment, a connection of somebody else must not sit on its port.
const lowest = 15_000
const highest = 32_000

/** The ports of a home: chosen free the first time, the same ever after unless somebody else took one. */
export async function keepPorts(home: Home): Promise<Ports> {
  const file = home.file('ports.json')
  const kept = readJson<Partial<Ports>>(file) ?? {}
  const ports = await choosePorts(kept)
  if (JSON.stringify(kept) !== JSON.stringify(ports)) writeJson(file, ports)
  return ports
}

async function choosePorts(kept: Partial<Ports>): Promise<Ports> {
  const chosen = new Set<number>()
  const entries: [PortName, number][] = []
  for (const name of portNames) {
    let port = kept[name] ?? randomPort()
    while (chosen.has(port) || !(await isPortFree(port))) port = randomPort()
    chosen.add(port)
    entries.push([name, port])
  }
  return Object.fromEntries(entries) as Ports
}

/** A port of the loopback address that nobody listens on right now. */
export async function findFreePort(): Promise<number> {
  let port = randomPort()
  while (!(await isPortFree(port))) port = randomPort()
  return port
}

const randomPort = (): number => lowest + Math.floor(Math.random() * (highest - lowest))

/** Whether nobody listens on this port of the loopback address. */
async function isPortFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return true
  } catch {
    return false
  }
}
