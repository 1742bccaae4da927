import { type Meridian, MeridianProblem } from '@meridian/sdk'

const pageSize = 200
const lookUpsMax = 50

/**
 * The names of jobs by id. One page of jobs answers nearly always; the rest are looked up one by one, and a job that
 * was deleted has no name.
 */
export async function jobNames(sdk: Meridian, ids: Iterable<string | null>): Promise<Record<string, string>> {
  const wanted = new Set([...ids].filter((id) => id !== null))
  if (wanted.size === 0) return {}
  const page = await sdk.jobs.list({ limit: pageSize }).page()
  const names = Object.fromEntries(page.data.map((job) => [job.id, job.name]))
  const missing = page.nextCursor === null ? [] : [...wanted].filter((id) => !(id in names)).slice(0, lookUpsMax)
  const found = await Promise.all(missing.map((id) => nameOf(sdk, id)))
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
