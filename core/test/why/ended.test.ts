import { describe, expect, it } from 'vitest'
import { cancelRun } from '../../src/run/cancel.ts'
import { expireRuns } from '../../src/run/expire.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { unknownId } from '../../src/testing/job-samples.ts'
import { explainJob } from '../../src/why/job.ts'
import { explainRun } from '../../src/why/run.ts'
import { whyCodes } from '../../src/why/why.ts'
import { codesOf, codesOfFile, setWhyStage } from './stage.ts'

const look = setWhyStage('ended')

describe('a run', () => {
  it('that has ended says how', async () => {
    const [good, bad] = await look.stage.running(2)
    await look.stage.end(good === undefined ? [] : [good])
    await look.stage.end(bad === undefined ? [] : [bad], 'failed')
    expect(codesOf(await look.whyRun(good?.id))).toEqual(['succeeded'])
    expect((await look.whyRun(bad?.id)).reasons).toMatchObject([{ code: 'failed', evidence: { error: 'http-status' } }])
    const cancelled = await look.one()
    await cancelRun(look.stage.ctx, cancelled)
    expect(codesOf(await look.whyRun(cancelled))).toEqual(['cancelled'])
    const late = await look.one({ startWithinMs: 60_000 })
    await look.stage.db.owner.query(
      "update run_deadlines set start_by = now() - interval '1 second', check_at = now() where run_id = $1",
      [late],
    )
    await expireRuns(look.stage.db.engine, 10)
    expect((await look.whyRun(late)).reasons).toMatchObject([
      { code: 'deadline-passed', evidence: { error: 'start-deadline' } },
    ])
    const skipped = await look.one()
    await look.stage.db.owner.query(
      "with w as (delete from ready where id = $1 returning *) insert into runs (tenant_id, project_id, id, queue_id, pool, state, attempt, fence, due_at, ended_at, error) select tenant_id, project_id, id, queue_id, pool, 8, 0, 0, due_at, now(), 'overlap' from w",
      [skipped],
    )
    expect((await look.whyRun(skipped)).reasons).toMatchObject([{ code: 'skipped', evidence: { error: 'overlap' } }])
  })

  it('of somebody else is not found', async () => {
    await expect(
      explainRun(testCtx(look.stage.db, await createTenant(look.stage.db)), await look.one()),
    ).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(explainJob(look.stage.ctx, unknownId())).rejects.toMatchObject({ code: 'not-found' })
  })
})

it('each code has a test', () => {
  expect(Object.values(codesOfFile).flat().toSorted()).toEqual(whyCodes.toSorted())
})
