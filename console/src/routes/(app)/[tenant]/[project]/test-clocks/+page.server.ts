import { redirect } from '@sveltejs/kit'
import { findProject } from '#lib/me.ts'
import { act, textOf } from '#lib/server/act.ts'
import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import { readMe } from '#lib/server/sdk.ts'
import type { Actions, PageServerLoad } from './$types'

const day = 86_400_000

export const load: PageServerLoad = async ({ locals, depends }) => {
  depends('meridian:runs', 'meridian:clock')
  const { sdk, project } = opened(locals)
  const [current, projects] = await Promise.all([
    sdk.projects.get(project.id),
    sdk.projects.list({ limit: 200 }).page(),
  ])
  const others = projects.data.filter(({ hasTestClock, id }) => hasTestClock && id !== project.id)
  const [clock] = current.hasTestClock ? (await sdk.testClocks.list().page()).data : []
  if (!clock)
    return {
      isForTests: current.hasTestClock,
      others,
      clock,
      runs: [],
      names: {} as Record<string, string>,
      coming: [],
    }
  const until = new Date(Date.parse(clock.now) + 31 * day).toISOString()
  const [runs, coming] = await Promise.all([
    sdk.runs.list({ limit: 50 }).page(),
    clock.target === null ? sdk.stats.upcoming({ until, limit: 10 }) : [],
  ])
  const names = await jobNames(
    sdk,
    runs.data.map((run) => run.jobId),
  )
  return {
    isForTests: true,
    others,
    clock,
    runs: runs.data.filter(({ status }) => status !== 'scheduled'),
    names,
    coming,
  }
}

const looks = 25
const lookMilliseconds = 200

/** The API keeps what it knows of a session for two seconds; until then the page of a new project would not be found. */
async function untilVisible({ session, open }: App.Locals, slug: string): Promise<void> {
  for (let look = 0; look < looks && session && open; look += 1) {
    if (findProject(await readMe(session.session.token), open.tenant.slug, slug)) return
    await new Promise((resolve) => setTimeout(resolve, lookMilliseconds))
  }
}

export const actions = {
  create: async ({ locals, request }) => {
    const form = await request.formData()
    const name = textOf(form, 'name')
    return act(async () => {
      const clock = await opened(locals).sdk.testClocks.create({ ...(name ? { name } : {}), now: textOf(form, 'now') })
      return { id: clock.id }
    })
  },
  advance: async ({ locals, request }) => {
    const form = await request.formData()
    const to = textOf(form, 'to')
    const way = to ? { to } : { by: textOf(form, 'by') }
    return act(async () => ({ target: (await opened(locals).sdk.testClocks.start(textOf(form, 'id'), way)).target }))
  },
  delete: async ({ locals, request }) => {
    const id = textOf(await request.formData(), 'id')
    return act(async () => {
      await opened(locals).sdk.testClocks.delete(id)
      return { id }
    })
  },
  project: async ({ locals, request }) => {
    const { tenant, sdk } = opened(locals)
    const form = await request.formData()
    const [name, slug] = [textOf(form, 'name'), textOf(form, 'slug')]
    const made = await act(() => sdk.projects.create({ name, slug, label: 'development', hasTestClock: true }))
    if (!('id' in made)) return made
    await untilVisible(locals, slug)
    redirect(303, `/${tenant.slug}/${slug}/test-clocks`)
  },
} satisfies Actions
