import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endChild, freePort, pidOf, startProgram } from './program.ts'
import { waitFor } from './wait.ts'

/** A target that costs as little as can be: nginx where there is one, else a bare Node server. */
export interface NoopTarget {
  readonly kind: 'nginx' | 'node'
  readonly url: string
  readonly pid: number
  /** How many requests it has answered so far. */
  count(): Promise<number>
  stop(): Promise<void>
}

/** Starts the no-op target on a free port of the loopback address. */
export async function startNoopTarget(): Promise<NoopTarget> {
  const hasNginx = spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0
  return hasNginx ? startNginx() : startNode()
}

async function startNode(): Promise<NoopTarget> {
  const program = await startProgram(new URL('./noop-server.ts', import.meta.url))
  const origin = `http://127.0.0.1:${String(program.ready.port)}`
  return {
    kind: 'node',
    url: `${origin}/hook`,
    count: async () => Number(await (await fetch(`${origin}/count`)).text()),
    pid: program.pid,
    stop: program.stop,
  }
}

async function startNginx(): Promise<NoopTarget> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'meridian-noop-'))
  writeFileSync(join(folder, 'nginx.conf'), nginxConfig(folder, port))
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  })
  const origin = `http://127.0.0.1:${port}`
  // The status page counts the requests for itself, too.
  let asked = 0
  const count = async () => {
    const page = await (await fetch(`${origin}/count`)).text()
    asked += 1
    return Number(/^ \d+ \d+ (\d+)/m.exec(page)?.[1]) - asked
  }
  await waitFor('nginx', async () => (await count()) >= 0, { timeoutMs: 5_000 })
  return {
    kind: 'nginx',
    url: `${origin}/hook`,
    count,
    pid: pidOf(child),
    stop: async () => {
      await endChild(child)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function nginxConfig(folder: string, port: number): string {
  return `
worker_processes 1;
daemon off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 2048; }
http {
  access_log off;
  keepalive_requests 100000000;
  keepalive_timeout 300s;
  client_max_body_size 10m;
  client_body_buffer_size 64k;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location = /count { stub_status; }
    location / { default_type application/json; return 200 '{"ok":true}'; }
  }
}
`
}
