import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, url }) => {
  const imports = await opened(locals)
    .sdk.imports.list({ limit: 50, cursor: url.searchParams.get('cursor') ?? undefined })
    .page()
  return { imports: imports.data, nextCursor: imports.nextCursor }
}
