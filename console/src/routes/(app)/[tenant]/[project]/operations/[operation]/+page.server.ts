import type { Meridian, Operation, OperationItem } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 100
const states = ['waiting', 'done', 'unchanged', 'failed'] as const satisfies OperationItem['state'][]

export const load: PageServerLoad = async ({ locals, params, url, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const state = states.find((known) => known === url.searchParams.get('state'))
  const cursor = url.searchParams.get('cursor') ?? undefined
  const [operation, items] = await Promise.all([
    sdk.operations.get(params.operation),
    sdk.operations.items(params.operation, { limit: pageSize, state, cursor }).page(),
  ])
  return { operation, items: items.data, nextCursor: items.nextCursor }
}

const doing =
  (work: (sdk: Meridian, id: string) => Promise<Operation>) =>
  ({ locals, params }: Parameters<Actions[string]>[0]) =>
    act(async () => ({ state: (await work(opened(locals).sdk, params.operation)).state }))

export const actions = {
  pause: doing((sdk, id) => sdk.operations.pause(id)),
  resume: doing((sdk, id) => sdk.operations.resume(id)),
  abort: doing((sdk, id) => sdk.operations.abort(id)),
  undo: async ({ locals, params }) => {
    const { tenant, project, sdk } = opened(locals)
    const undo = await act(() => sdk.operations.undo(params.operation))
    if (!('id' in undo)) return undo
    redirect(303, `/${tenant.slug}/${project.slug}/operations/${undo.id}`)
  },
} satisfies Actions
