import type { NewCalendar } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, jsonOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals }) => ({
  countries: await opened(locals).sdk.calendars.holidayPlaces(),
})

export const actions = {
  default: async ({ locals, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const calendar = jsonOf(await request.formData(), 'calendar') as NewCalendar
    const made = await act(() => sdk.calendars.create(calendar))
    if (!('id' in made)) return made
    redirect(303, `/${tenant.slug}/${project.slug}/calendars/${made.name}`)
  },
} satisfies Actions
