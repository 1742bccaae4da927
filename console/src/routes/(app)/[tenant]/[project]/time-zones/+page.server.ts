import type { TimeZoneReport } from '@meridian/sdk'
import { opened } from '#lib/server/open.ts'
import type { PageServerLoad } from './$types'

export const load: PageServerLoad = async ({ locals, url }) => {
  const { sdk } = opened(locals)
  const zoneData = await sdk.timeZoneData.get()
  const asked = url.searchParams.get('version')
  const [newest] = zoneData.others
  const compared = zoneData.others.find((version) => version === asked) ?? newest
  // Every schedule is computed twice: it follows when it is done.
  const report: Promise<TimeZoneReport | undefined> | undefined =
    compared === undefined ? undefined : sdk.timeZoneData.report({ version: compared }).catch(() => undefined)
  return { zoneData, compared, report }
}
