import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 30

export const load: PageServerLoad = async ({ locals, url, depends }) => {
  depends('meridian:runs')
  const { sdk } = opened(locals)
  const fingerprint = url.searchParams.get('group')
  const cursor = url.searchParams.get('cursor') ?? undefined
  const [groups, page] = await Promise.all([
    sdk.deadLetters.groups(),
    fingerprint === null ? undefined : sdk.deadLetters.list({ fingerprint, limit: pageSize, cursor }).page(),
  ])
  return { groups, letters: page?.data, nextCursor: page?.nextCursor ?? null }
}

export const actions = {
  redrive: async ({ locals, request }) => {
    const runId = textOf(await request.formData(), 'runId')
    return act(async () => ({
      started: (await opened(locals).sdk.deadLetters.redrive(runId, { evenQuarantined: true })).id,
    }))
  },
  discard: async ({ locals, request }) => {
    const runId = textOf(await request.formData(), 'runId')
    return act(async () => ({ discarded: (await opened(locals).sdk.deadLetters.discard(runId)).runId }))
  },
} satisfies Actions
