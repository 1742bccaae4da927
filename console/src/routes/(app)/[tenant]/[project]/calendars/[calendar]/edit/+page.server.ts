import type { CalendarChanges } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { act, jsonOf, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, params }) => {
  const { sdk } = opened(locals)
  const [calendar, countries] = await Promise.all([sdk.calendars.get(params.calendar), sdk.calendars.holidayPlaces()])
  return { calendar, countries }
}

export const actions = {
  default: async ({ locals, params, request }) => {
    const { tenant, project, sdk } = opened(locals)
    const form = await request.formData()
    const changes = jsonOf(form, 'calendar') as CalendarChanges
    const ifVersion = Number(textOf(form, 'version'))
    const changed = await act(() => sdk.calendars.update(params.calendar, changes, { ifVersion }))
    if (!('id' in changed)) return changed
    redirect(303, `/${tenant.slug}/${project.slug}/calendars/${params.calendar}`)
  },
} satisfies Actions
