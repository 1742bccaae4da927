import type { Blackout, BlackoutChanges, BlackoutPreview, NewBlackout } from '@meridian/sdk'
import { stateOf } from '#lib/blackout/words.ts'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const pageSize = 30

export const load: PageServerLoad = async ({ locals, url }) => {
  const { sdk } = opened(locals)
  const showsAll = url.searchParams.get('over') === 'too'
  const page = await sdk.blackouts
    .list({
      limit: pageSize,
      cursor: url.searchParams.get('cursor') ?? undefined,
      ...(showsAll ? {} : { open: 'true' as const }),
    })
    .page()
  const count = ({ id, from, until, isForAll }: Blackout): Promise<BlackoutPreview | undefined> =>
    sdk.blackouts.preview({ from, until, isForAll, blackoutId: id }).catch(() => undefined)
  const toCome = page.data.filter((blackout) => stateOf(blackout, locals.now) !== 'over')
  return {
    blackouts: page.data,
    nextCursor: page.nextCursor,
    showsAll,
    loadedAt: locals.now,
    // Counting takes longer than reading: it follows when it is done.
    affected: Object.fromEntries(toCome.map((blackout) => [blackout.id, count(blackout)])),
  }
}

export const actions = {
  create: async ({ locals, request }) => {
    const blackout = jsonOf(await request.formData(), 'blackout') as NewBlackout
    return act(async () => ({ id: (await opened(locals).sdk.blackouts.create(blackout)).id }))
  },
  change: async ({ locals, request }) => {
    const form = await request.formData()
    const changes = jsonOf(form, 'blackout') as BlackoutChanges
    const ifVersion = Number(textOf(form, 'version'))
    return act(async () => {
      const changed = await opened(locals).sdk.blackouts.update(textOf(form, 'id'), changes, { ifVersion })
      return { version: changed.version }
    })
  },
  lift: async ({ locals, request }) => {
    const id = textOf(await request.formData(), 'id')
    return act(async () => {
      await opened(locals).sdk.blackouts.delete(id)
      return { lifted: true }
    })
  },
} satisfies Actions
