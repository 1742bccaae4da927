import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { createApiKey, getApiKey, listApiKeys, revokeApiKey } from '../src/access/keys.ts'
import { listMembers } from '../src/access/members.ts'
import { getProject, listProjects, updateProject } from '../src/access/projects.ts'
import type { Ctx } from '../src/db/context.ts'
import { queueDepths } from '../src/flow/depths.ts'
import { createQueue, getQueue, listQueues, pauseQueue, resumeQueue, updateQueue } from '../src/flow/queues.ts'
import { createJob } from '../src/job/create.ts'
import { deleteJob } from '../src/job/delete.ts'
import { getJob, getJobByExternalId } from '../src/job/get.ts'
import { listJobs } from '../src/job/list.ts'
import { restoreJob } from '../src/job/restore.ts'
import { pauseJob, resumeJob } from '../src/job/set-state.ts'
import { setJobMode } from '../src/job/shadow.ts'
import { updateJob } from '../src/job/update.ts'
import { getJobVersion, listJobVersions } from '../src/job/versions.ts'
import { encodeCursor } from '../src/kernel/page.ts'
import { listPings } from '../src/ping/list.ts'
import { openPingUrl } from '../src/ping/ping-url.ts'
import { createTenant, testCtx } from '../src/testing/factories.ts'
import { sampleJob, unknownId } from '../src/testing/job-samples.ts'
import { createTestDb, type TestDb } from '../src/testing/test-db.ts'

const page = { limit: 50 }
type Verb = (ctx: Ctx, id: string) => Promise<unknown>

/** Every verb that takes an id, by what the id is of. A new verb is added here. */
const verbs: Record<'job' | 'queue' | 'key' | 'project', Record<string, Verb>> = {
  job: {
    getJob,
    updateJob: (ctx, id) => updateJob(ctx, id, { name: 'taken' }),
    pauseJob: (ctx, id) => pauseJob(ctx, id, 'x'),
    resumeJob,
    deleteJob: (ctx, id) => deleteJob(ctx, id),
    restoreJob: (ctx, id) => restoreJob(ctx, id, { version: 1 }),
    listJobVersions: (ctx, id) => listJobVersions(ctx, id, page),
    getJobVersion: (ctx, id) => getJobVersion(ctx, id, 1),
    setJobMode: (ctx, id) => setJobMode(ctx, id, 'shadow'),
    openPingUrl: (ctx, id) => openPingUrl(ctx, id, { rotate: true }),
    listPings: (ctx, id) => listPings(ctx, id, page),
  },
  queue: {
    getQueue,
    updateQueue: (ctx, id) => updateQueue(ctx, id, { concurrency: 1 }),
    pauseQueue: (ctx, id) => pauseQueue(ctx, id, 'x'),
    resumeQueue,
  },
  key: { getApiKey, revokeApiKey },
  project: { getProject, updateProject: (ctx, id) => updateProject(ctx, id, { name: 'taken' }) },
}

let db: TestDb
/** A person of each of two tenants, of a second project of the first, and what lies in that first project. */
let ours: Ctx
let strangers: { theirs: Ctx; 'another project': Ctx }
let ids: Record<keyof typeof verbs, string>

beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  const one = await createTenant(db, {
    projects: [
      { slug: 'main', name: 'Main', label: 'production' },
      { slug: 'side', name: 'Side', label: 'staging' },
    ],
  })
  const two = await createTenant(db)
  ours = testCtx(db, one)
  strangers = {
    theirs: testCtx(db, two, { actor: { type: 'user', id: two.userIds[0] ?? '' } }),
    'another project': testCtx(db, { ...one, projectId: one.projects[1]?.id ?? '' }),
  }
  const { key } = await createApiKey(ours, { name: 'ours', scopes: [] })
  ids = {
    job: (await createJob(ours, sampleJob({ externalId: 'shared', name: 'Ours' }))).id,
    queue: (await createQueue(ours, { name: 'ours' })).id,
    key: key.id,
    project: one.projectId,
  }
})
afterAll(() => db.close())

const answerOf = async (verb: Verb, ctx: Ctx, id: string): Promise<unknown> => {
  const error: unknown = await verb(ctx, id).then(
    () => 'it worked',
    (refusal: unknown) => refusal,
  )
  return error instanceof Error && 'code' in error ? { code: error.code, message: error.message } : error
}

const cases = Object.entries(verbs).flatMap(([noun, byName]) =>
  Object.entries(byName).flatMap(([name, verb]) =>
    (['theirs', 'another project'] as const).map((who) => ({ name, who, noun: noun as keyof typeof verbs, verb })),
  ),
)

describe('an id of somebody else', () => {
  test.each(cases)('O-62: $name from $who answers as for an id that nothing has', async ({ who, noun, verb }) => {
    const known = await answerOf(verb, strangers[who], ids[noun])
    expect(known).toMatchObject({ code: 'not-found' })
    expect(known).toEqual(await answerOf(verb, strangers[who], unknownId()))
  })

  test('changed nothing by all that', async () => {
    expect(await getJob(ours, ids.job)).toMatchObject({ name: 'Ours', version: 1, state: 'active' })
    expect(await getQueue(ours, ids.queue)).toMatchObject({ version: 1, pausedAt: null })
    expect((await getApiKey(ours, ids.key)).revokedAt).toBeNull()
  })

  test.each(['theirs', 'another project'] as const)(
    'O-63: is in no list of %s, nor reached by a cursor or a name',
    async (who) => {
      const ctx = strangers[who]
      const before = encodeCursor('00000000-0000-7000-8000-000000000000')
      expect((await listJobs(ctx, {}, page)).items).toEqual([])
      expect(
        (
          await listJobs(
            ctx,
            { search: 'Ours' },
            { cursor: encodeCursor('ffffffff-ffff-7fff-bfff-ffffffffffff'), ...page },
          )
        ).items,
      ).toEqual([])
      expect((await listQueues(ctx, { cursor: before, ...page })).items.map(({ name }) => name)).toEqual(['default'])
      expect((await listApiKeys(ctx, page)).items.map(({ id }) => id)).not.toContain(ids.key)
      expect((await listProjects(ctx, page)).items.map(({ id }) => id)).not.toContain(ids.project)
      expect((await queueDepths(ctx, [ids.queue])).size).toBe(0)
      await expect(getJobByExternalId(ctx, 'shared')).rejects.toMatchObject({ code: 'not-found' })
    },
  )

  test('people of one tenant are not listed in another', async () => {
    const [one, two] = [await listMembers(ours), await listMembers(strangers.theirs)]
    expect(one.filter(({ userId }) => two.some((other) => other.userId === userId))).toEqual([])
  })
})
