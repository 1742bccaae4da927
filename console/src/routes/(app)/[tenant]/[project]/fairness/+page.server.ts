import { readSpan } from '#lib/flow/share.ts'
import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, url, depends }) => {
  depends('meridian:overview')
  const span = readSpan(url.searchParams)
  const report = await opened(locals).sdk.stats.fairness({
    from: new Date(locals.now - span.length).toISOString(),
    to: new Date(locals.now).toISOString(),
  })
  return { span, report }
}
