import { type Meridian, MeridianProblem } from '@meridian/sdk'

const pageSize = 200
const lookUpsMax = 50

/**
 * The names of jobs by id. One page of jobs answers nearly always, then one of archived ones; the rest are looked up one
 * by one, and a job that was deleted has no name.
 */
export async function jobNames(sdk: Meridian, ids: Iterable<string | null>): Promise<Record<string, string>> {
  const wanted = new Set([...ids].filter((id) => id !== null))
  if (wanted.size === 0) return {}
  const names: Record<string, string> = {}
  const missing = () => [...wanted].filter((id) => !(id in names))
  let isWhole = true
  for (const state of [undefined, 'archived'] as const) {
    if (missing().length === 0) return names
    const page = await sdk.jobs.list({ limit: pageSize, state }).page()
    for (const job of page.data) names[job.id] = job.name
    isWhole &&= page.nextCursor === null
  }
  if (isWhole) return names
  const found = await Promise.all(
    missing()
      .slice(0, lookUpsMax)
      .map((id) => nameOf(sdk, id)),
  )
  return { ...names, ...Object.fromEntries(found.filter((entry) => entry !== undefined)) }
}

async function nameOf(sdk: Meridian, id: string): Promise<[string, string] | undefined> {
  try {
    return [id, (await sdk.jobs.get(id)).name]
  } catch (thrown) {
    if (thrown instanceof MeridianProblem && thrown.status === 404) return undefined
    throw thrown
  }
}
