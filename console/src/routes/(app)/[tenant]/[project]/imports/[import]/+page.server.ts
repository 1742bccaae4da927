import { presets } from '#lib/draw/histogram.ts'
import { act } from '#lib/server/act.ts'
import { opened } from '#lib/server/open.ts'
import type { Actions, PageServerLoad } from './$types'

const ranges = presets.filter(({ name }) => name !== '1h')

export const load: PageServerLoad = async ({ locals, params, url, depends }) => {
  depends('meridian:import')
  const { sdk } = opened(locals)
  const chosen = ranges.find(({ name }) => name === url.searchParams.get('last')) ?? ranges[0]
  const to = new Date(locals.now)
  const from = new Date(locals.now - (chosen?.length ?? 0))
  const [made, report] = await Promise.all([
    sdk.imports.get(params.import),
    sdk.imports.report(params.import, { from: from.toISOString(), to: to.toISOString(), buckets: 48 }),
  ])
  return { made, report, last: chosen?.name ?? '24h' }
}

export const actions = {
  switch: async ({ locals, params, request }) => {
    const mode = (await request.formData()).get('mode') === 'live' ? 'live' : 'shadow'
    return act(async () => ({ changed: (await opened(locals).sdk.imports.switch(params.import, mode)).changed }))
  },
  pings: async ({ locals, params }) =>
    act(async () => ({ urls: await opened(locals).sdk.imports.pingUrls(params.import) })),
} satisfies Actions
