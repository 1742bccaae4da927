import { error } from '@sveltejs/kit'

/** The open project of a request below `[tenant]/[project]`, where the hook has always set it. */
export function opened(locals: App.Locals): NonNullable<App.Locals['open']> {
  if (!locals.open) error(404, 'There is no such project, or it is not yours to see')
  return locals.open
}
