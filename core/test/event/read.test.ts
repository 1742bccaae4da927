import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Ctx } from '../../src/db/context.ts'
import type { StoredEvent } from '../../src/event/event.ts'
import { listEventsAbout, parsePosition, readEvents, readProjectEvents, startPosition } from '../../src/event/read.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from '../run/stage.ts'

let stage: Stage
let stranger: Ctx
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
  stranger = testCtx(stage.db, await createTenant(stage.db))
})
afterAll(() => stage.db.close())

const order = (position: string): bigint => {
  const [xid, seq] = parsePosition(position)
  return BigInt(xid) * 10n ** 18n + BigInt(seq)
}
/** Follows the events as a reader does, until it has seen as many as there are. */
async function follow(from: string, limit: number, total: () => number): Promise<StoredEvent[]> {
  const seen: StoredEvent[] = []
  for (let position = from; seen.length < total(); ) {
    const events = await readEvents(stage.db.engine, position, limit)
    seen.push(...events)
    position = events.at(-1)?.position ?? position
  }
  return seen
}
const subjects = (events: StoredEvent[]): (string | null)[] => events.map((event) => event.subject)

describe('reading events', () => {
  it('a late commit of an older transaction is not missed by a reader that has moved on', async () => {
    const start = await startPosition(stage.ctx)
    const older = await stage.db.owner.connect()
    await older.query('begin')
    const tell = "insert into events (tenant_id, project_id, type, subject) values ($1, $2, 'run.created', $3)"
    const late = stage.tenant.apiKeyId
    await older.query(tell, [stage.ctx.tenantId, stage.ctx.projectId, late])
    const [first] = await stage.accept({})
    // Committed, but not settled: an older transaction may still tell something that belongs before it.
    expect(subjects(await readEvents(stage.db.engine, start, 10))).not.toContain(first?.id)
    expect(await readProjectEvents(stage.ctx, start, 10)).toEqual([])
    const beginning = await startPosition(stage.ctx)
    await older.query('commit')
    older.release()
    expect(subjects(await readEvents(stage.db.engine, start, 10))).toEqual([late, first?.id])
    expect(subjects(await readProjectEvents(stage.ctx, beginning, 10))).toEqual([late, first?.id])
  })

  it('the events of one transaction come in their order, however many digits their numbers have', async () => {
    const start = await startPosition(stage.ctx)
    const runs = await stage.accept(...Array.from({ length: 120 }, () => ({})))
    const seen = await follow(start, 7, () => 120)
    expect(subjects(seen).map(String).toSorted()).toEqual(runs.map((run) => run.id).toSorted())
    const positions = seen.map((event) => order(event.position))
    expect(positions).toEqual(positions.toSorted((a, b) => (a < b ? -1 : 1)))
  })

  it('while many write, a reader sees each event once, in one order', async () => {
    const start = await startPosition(stage.ctx)
    const written: string[] = []
    let writing = 6
    const writers = Array.from({ length: writing }, async (_, writer) => {
      for (let round = 0; round < 15; round++) {
        const client = await stage.db.owner.connect()
        await client.query('begin')
        const runs = await stage.accept(...Array.from({ length: ((writer + round) % 4) + 1 }, () => ({})))
        await client.query("insert into events (tenant_id, project_id, type) values ($1, $2, 'runs.created')", [
          stage.ctx.tenantId,
          stage.ctx.projectId,
        ])
        await client.query('commit')
        client.release()
        written.push(...runs.map((run) => run.id))
      }
      writing--
    })
    const [seen] = await Promise.all([
      follow(start, 7, () => (writing > 0 ? Number.POSITIVE_INFINITY : written.length + 90)),
      ...writers,
    ])
    const ids = subjects(seen).filter((subject) => subject !== null)
    expect(ids.toSorted()).toEqual(written.toSorted())
    expect(seen.filter((event) => event.type === 'runs.created')).toHaveLength(90)
    const positions = seen.map((event) => order(event.position))
    expect(positions).toEqual(positions.toSorted((a, b) => (a < b ? -1 : 1)))
    expect(new Set(positions).size).toBe(positions.length)
  })

  it('a project hears of itself only', async () => {
    const start = await startPosition(stage.ctx)
    const [mine] = await stage.accept({})
    const [theirs] = await stage.acceptAs(stranger, {})
    expect(subjects(await readProjectEvents(stage.ctx, start, 10))).toEqual([mine?.id])
    expect(subjects(await readProjectEvents(stranger, start, 10))).toContain(theirs?.id)
    expect(await readProjectEvents({ ...stage.ctx, projectId: stranger.projectId }, start, 10)).toEqual([])
    expect(await listEventsAbout(stage.ctx, theirs?.id ?? '')).toEqual([])
    expect(await listEventsAbout(stage.ctx, mine?.id ?? '')).toMatchObject([
      { type: 'run.created', subject: mine?.id, tenantId: stage.ctx.tenantId, jobId: null },
    ])
  })

  it('only its own positions are taken', async () => {
    for (const position of [
      '',
      '1',
      '-1-2',
      '1-',
      '1-2-3',
      'a-b',
      '1-9999999999999999999',
      '99999999999999999999-1',
      "1-1'; drop table events; --",
    ]) {
      expect(() => parsePosition(position), position).toThrow(expect.objectContaining({ code: 'malformed-request' }))
    }
    expect(await readProjectEvents(stage.ctx, '9999999999999999999-999999999999999999', 10)).toEqual([])
  })
})
