import { projectCookie } from '#lib/server/last-project.ts'
import { opened } from '#lib/server/open.ts'
import { cookieBase } from '#lib/server/security.ts'
import type { LayoutServerLoad } from './$types'

const day = 86_400_000

export const load: LayoutServerLoad = async ({ locals, cookies, depends }) => {
  depends('meridian:overview')
  const { tenant, project, sdk } = opened(locals)
  cookies.set(projectCookie, `${tenant.slug}/${project.slug}`, { ...cookieBase, maxAge: 365 * 86_400 })
  // A count in the sidebar: without it the page is as good, and says itself what the API has against it.
  const stats = await sdk.stats
    .runs({
      from: new Date(locals.now - day).toISOString(),
      to: new Date(locals.now).toISOString(),
      buckets: 1,
    })
    .catch(() => undefined)
  const { failed = 0, expired = 0 } = stats?.buckets[0]?.counts ?? {}
  return {
    me: locals.me,
    tenant,
    project,
    base: `/${tenant.slug}/${project.slug}`,
    attention: { '/runs': failed + expired },
    failing: failed + expired > 0,
  }
}
