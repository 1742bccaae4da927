import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals }) => ({ system: await opened(locals).sdk.system() })
