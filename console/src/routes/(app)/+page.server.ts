import { redirect } from '@sveltejs/kit'
import { findProject } from '#lib/me.ts'
import { projectCookie } from '#lib/server/last-project.ts'
import type { PageServerLoad } from './$types'

/** Opens the project that was open last, else the first. Whoever has none is told so. */
export const load: PageServerLoad = ({ locals, cookies }) => {
  if (locals.trouble !== undefined) throw locals.trouble
  const me = locals.me
  const [tenant = '', project = ''] = (cookies.get(projectCookie) ?? '').split('/')
  if (me && findProject(me, tenant, project)) redirect(303, `/${tenant}/${project}`)
  const first = me?.tenants.find((candidate) => candidate.projects.length > 0)
  if (first?.projects[0]) redirect(303, `/${first.slug}/${first.projects[0].slug}`)
  return { email: me?.user.email }
}
