import type { NewImport } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, jsonOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, url }) => {
  const again = url.searchParams.get('again')
  return { earlier: again === null ? undefined : await opened(locals).sdk.imports.get(again) }
}

export const actions = {
  default: async ({ locals, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const input = jsonOf(await request.formData(), 'import') as NewImport
    const made = await act(() => sdk.imports.create(input))
    if (!('id' in made)) return made
    redirect(303, `/${tenant.slug}/${project.slug}/imports/${made.id}`)
  },
} satisfies Actions
