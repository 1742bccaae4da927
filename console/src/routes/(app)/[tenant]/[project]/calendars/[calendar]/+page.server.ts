import type { Calendar } from '@meridian/sdk'
import { redirect } from '@sveltejs/kit'
import { contentsOf } from '#lib/calendar/contents.ts'
import { act, textOf } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const versionsShown = 20

export const load: PageServerLoad = async ({ locals, params, url }) => {
  const { sdk } = opened(locals)
  const [calendar, versions] = await Promise.all([
    sdk.calendars.get(params.calendar),
    sdk.calendars.versions(params.calendar, { limit: versionsShown }).page(),
  ])
  const thisYear = new Date(locals.now).getUTCFullYear()
  const asked = Number(url.searchParams.get('year'))
  const year = Number.isInteger(asked) && asked >= 1970 && asked <= 2200 ? asked : thisYear
  const version = Number(url.searchParams.get('version')) || calendar.version
  const shown = version === calendar.version ? calendar : await sdk.calendars.version(params.calendar, version)
  const days = await sdk.calendars.days({
    calendar: contentsOf(shown),
    from: `${year}-01-01`,
    until: `${year}-12-31`,
  })
  return { calendar, shown, year, days, versions: versions.data, hasMoreVersions: versions.nextCursor !== null }
}

export const actions = {
  restore: async ({ locals, params, request }) => {
    const { sdk } = opened(locals)
    const version = Number(textOf(await request.formData(), 'version'))
    return act(async () => {
      const { description, ...old } = await sdk.calendars.version(params.calendar, version)
      const changed: Calendar = await sdk.calendars.update(params.calendar, {
        ...contentsOf(old),
        ...(description === null ? {} : { description }),
      })
      return { version: changed.version }
    })
  },
  delete: async ({ locals, params }) => {
    const { tenant, project, sdk } = opened(locals)
    const refused = await act(() => sdk.calendars.delete(params.calendar))
    if (refused) return refused
    redirect(303, `/${tenant.slug}/${project.slug}/calendars`)
  },
} satisfies Actions
