import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Client } from 'pg'

/** The first number of the advisory lock under which runs are admitted. */
const dispatchLock = 42

/**
 * Looks for the process that holds the dispatch lock right now, among `pids`; undefined when nobody does. The lock is
 * held for milliseconds, so ask again and again.
 */
export async function findLockHolder(client: Client, pids: readonly number[]): Promise<number | undefined> {
  const { rows } = await client.query<{ port: number }>(
    `select a.client_port as port from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.classid = $1 and l.granted`,
    [dispatchLock],
  )
  const [holder] = rows
  return holder === undefined ? undefined : ownerOf(holder.port, pids)
}

/** Which of these processes has a connection from this local port. */
function ownerOf(port: number, pids: readonly number[]): number | undefined {
  const inode = inodeOf(port)
  return pids.find((pid) => inode !== undefined && socketsOf(pid).includes(`socket:[${inode}]`))
}

function inodeOf(port: number): string | undefined {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/)
    if (fields[1]?.endsWith(suffix)) return fields[9]
  }
  return undefined
}

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((descriptor) => readlinkSync(`/proc/${pid}/fd/${descriptor}`))
  } catch {
    return []
  }
}
