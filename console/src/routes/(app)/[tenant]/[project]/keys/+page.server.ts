import { type Scope, scopes } from '#lib/access.ts'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import { API_URL } from '$app/env/private'
import type { Actions, PageServerLoad } from './$types'

const day = 86_400_000

export const load: PageServerLoad = async ({ locals, url }) => {
  const keys = await opened(locals)
    .sdk.keys.list({ limit: 100, cursor: url.searchParams.get('cursor') ?? undefined })
    .page()
  return { keys: keys.data, nextCursor: keys.nextCursor, apiUrl: API_URL.origin }
}

export const actions = {
  create: async ({ locals, request }) => {
    const form = await request.formData()
    const days = Number(textOf(form, 'days'))
    return act(async () => {
      const { name, secret } = await opened(locals).sdk.keys.create({
        name: textOf(form, 'name'),
        scopes: form.getAll('scope').filter((scope): scope is Scope => scopes.includes(scope as Scope)),
        expiresAt: days > 0 ? new Date(Date.now() + days * day).toISOString() : null,
      })
      return { name, secret }
    })
  },
  revoke: async ({ locals, request }) => {
    const id = textOf(await request.formData(), 'id')
    return act(async () => ({ revoked: (await opened(locals).sdk.keys.revoke(id)).name }))
  },
} satisfies Actions
