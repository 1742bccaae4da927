import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { AppError } from '../../src/kernel/errors.ts'
import { createTenant, testCtx } from '../../src/testing/factories.ts'
import { createStage, type Stage } from '../run/stage.ts'
import { footprint, wipe } from './footprint.ts'
import { mortal } from './mortal.ts'
import { type Act, openScene } from './scene.ts'
import { clockSteps, steps } from './steps.ts'

let stage: Stage
beforeAll(async () => {
  stage = await createStage(inject('postgresUrl'))
})
afterAll(() => stage.db.close())

const statementsMax = 60

/** Arranges what comes before a step, in a database that holds nothing else. */
async function arrange(step: (typeof steps)[string]) {
  await wipe(stage.db.owner)
  const scene = openScene(stage)
  const act = await step(scene)
  return { act, look: () => footprint(stage.db.owner, scene.baseMs) }
}

/** Takes a step in a process that dies right before its statement number `fatal`; says whether it did. */
async function takeAndDie(act: Act, fatal: number): Promise<boolean> {
  const life = mortal(fatal)
  const doomed = { engine: life.pool(stage.db.engine), ctx: { ...stage.ctx, pool: life.pool(stage.db.app) } }
  await act(doomed).catch((error: unknown) => {
    if (!life.hasDied()) throw error
  })
  return life.hasDied()
}

/** Asks for what is done already; whoever does is told so. */
const takeAgain = (act: Act): Promise<unknown> =>
  act({ engine: stage.db.engine, ctx: stage.ctx }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error
  })

/** What is there when it was taken at last, by whoever comes after all the dead, and what is there when nobody dies. */
async function dieEverywhere(step: (typeof steps)[string]): Promise<{ taken: string[]; whole: string[] }> {
  const whole = await arrange(step)
  const before = await whole.look()
  await takeAndDie(whole.act, Number.POSITIVE_INFINITY)
  const after = await whole.look()
  expect(after, 'it does something').not.toEqual(before)

  let { act, look } = await arrange(step)
  for (let fatal = 1; fatal < statementsMax; fatal++) {
    const hasDied = await takeAndDie(act, fatal)
    const left = await look()
    if (!hasDied) return { taken: left, whole: after }
    if (left.join() !== after.join()) {
      expect(left, `killed before statement ${fatal}`).toEqual(before)
      continue
    }
    await takeAgain(act)
    expect(await look(), `taken again after it was killed before statement ${fatal}`).toEqual(after)
    ;({ act, look } = await arrange(step))
  }
  throw new Error('it never ended')
}

describe('killed before any of its statements, it is done wholly or not at all, and whoever comes next does it once', () => {
  it.each(Object.entries(steps))('%s', async (_name, step) => {
    const { taken, whole } = await dieEverywhere(step)
    expect(taken).toEqual(whole)
  })

  describe('in a project with a test clock', () => {
    beforeEach(async () => {
      const projects = [{ slug: 'sandbox', name: 'Sandbox', label: 'development' as const, hasTestClock: true }]
      stage.ctx = testCtx(stage.db, await createTenant(stage.db, { projects }))
    })

    it.each(Object.entries(clockSteps))('%s', async (_name, step) => {
      const { taken, whole } = await dieEverywhere(step)
      expect(taken).toEqual(whole)
    })
  })
})
