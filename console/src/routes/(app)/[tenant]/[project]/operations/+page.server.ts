import type { NewOperation, Operation } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import { listParam } from '#lib/url.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 30
const states = ['running', 'paused', 'aborted', 'finished'] as const satisfies Operation['state'][]

export const load: PageServerLoad = async ({ locals, url, depends }) => {
  depends('meridian:runs')
  const asked = listParam(url.searchParams.get('state'))
  const state = states.filter((known) => asked.includes(known))
  const page = await opened(locals)
    .sdk.operations.list({
      limit: pageSize,
      cursor: url.searchParams.get('cursor') ?? undefined,
      ...(state.length === 0 ? {} : { state }),
    })
    .page()
  return { operations: page.data, nextCursor: page.nextCursor }
}

export const actions = {
  start: async ({ locals, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const operation = JSON.parse(textOf(await request.formData(), 'operation')) as NewOperation
    const started = await act(() => sdk.operations.create(operation))
    if (!('id' in started)) return started
    redirect(303, `/${tenant.slug}/${project.slug}/operations/${started.id}`)
  },
} satisfies Actions
