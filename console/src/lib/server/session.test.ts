import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Sealer } from './seal.ts'
import { type Session, Sessions } from './session.ts'
import { fileStore } from './session-store.ts'

const sealer = new Sealer('a secret of at least thirty-two characters', 'session')
const soon = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString()
const session = (expiresAt = soon(60_000)): Session => ({
  token: 'ms_secret-token',
  idToken: 'header.secret-claims.signature',
  user: { id: 'usr_1', email: 'ada@example.com', name: 'Ada' },
  expiresAt,
})

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meridian-session-'))
})
afterEach(() => rm(folder, { recursive: true }))

describe('Sessions', () => {
  it('survive a restart of the console', async () => {
    const id = await new Sessions(fileStore(folder), sealer).create(session())
    expect(await new Sessions(fileStore(folder), sealer).read(id)).toMatchObject({ token: 'ms_secret-token' })
  })

  it('leave neither the id nor the token in the store', async () => {
    const id = await new Sessions(fileStore(folder), sealer).create(session())
    const [name] = await readdir(folder)
    const content = await readFile(join(folder, name ?? ''), 'utf8')
    expect(name).not.toContain(id)
    for (const secret of [id, 'secret-token', 'secret-claims', 'ada@example.com']) expect(content).not.toContain(secret)
    expect((await stat(join(folder, name ?? ''))).mode & 0o077).toBe(0)
  })

  it('get a new id every time', async () => {
    const sessions = new Sessions(fileStore(folder), sealer)
    expect(await sessions.create(session())).not.toBe(await sessions.create(session()))
  })

  it('are gone once destroyed', async () => {
    const sessions = new Sessions(fileStore(folder), sealer)
    const id = await sessions.create(session())
    await sessions.destroy(id)
    expect(await sessions.read(id)).toBeUndefined()
    expect(await readdir(folder)).toEqual([])
  })

  it('end at their absolute end', async () => {
    const sessions = new Sessions(fileStore(folder), sealer)
    expect(await sessions.read(await sessions.create(session(soon(-1))))).toBeUndefined()
  })

  it('do not open when another session is put in their place', async () => {
    const sessions = new Sessions(fileStore(folder), sealer)
    const mine = await sessions.create(session())
    const [minePath] = await readdir(folder)
    const other = await sessions.create({ ...session(), token: 'ms_other' })
    const otherPath = (await readdir(folder)).find((name) => name !== minePath)
    await writeFile(join(folder, minePath ?? ''), await readFile(join(folder, otherPath ?? '')))
    expect(await sessions.read(mine)).toBeUndefined()
    expect(await sessions.read(other)).toMatchObject({ token: 'ms_other' })
  })

  it('sweep what has expired, and only their own files', async () => {
    await new Sessions(fileStore(folder), sealer).create(session(soon(-1)))
    await writeFile(join(folder, 'notes.txt'), 'not a session')
    await new Sessions(fileStore(folder), sealer).read('anything')
    expect(await readdir(folder)).toEqual(['notes.txt'])
  })
})
