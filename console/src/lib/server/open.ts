import { error } from '@sveltejs/kit'

/** The open project of a request below `[tenant]/[project]`. Throws what the API had against telling who asks. */
export function opened(locals: App.Locals): NonNullable<App.Locals['open']> {
  if (locals.trouble !== undefined) throw locals.trouble
  if (!locals.open) error(404, 'There is no such project, or it is not yours to see')
  return locals.open
}
