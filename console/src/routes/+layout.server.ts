import type { LayoutServerLoad } from './$types'

export const load: LayoutServerLoad = ({ locals }) => ({ now: locals.now, preferences: locals.preferences })
