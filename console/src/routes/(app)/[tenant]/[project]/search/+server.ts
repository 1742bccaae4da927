import { MeridianProblem } from '@meridian/sdk'
import type { SearchHit } from '#lib/search.ts'
import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

const idPattern = /^(run|job)_[0-9a-z]{26}$/

/** Finds jobs by part of their name, and jobs and runs by their id. */
export const GET: RequestHandler = async ({ locals, url }) => {
  const { tenant, project, sdk } = opened(locals)
  const base = `/${tenant.slug}/${project.slug}`
  const wanted = url.searchParams.get('q')?.trim() ?? ''
  const kind = idPattern.exec(wanted)?.[1]
  const hits: SearchHit[] = kind
    ? await found(async () =>
        kind === 'run'
          ? { label: wanted, hint: `Run, ${(await sdk.runs.get(wanted)).status}`, href: `${base}/runs/${wanted}` }
          : { label: (await sdk.jobs.get(wanted)).name, hint: 'Job', href: `${base}/jobs/${wanted}` },
      )
    : wanted === ''
      ? []
      : (await sdk.jobs.list({ search: wanted, limit: 8 }).page()).data.map((job) => ({
          label: job.name,
          hint: job.state === 'paused' ? 'Job, paused' : 'Job',
          href: `${base}/jobs/${job.id}`,
        }))
  return Response.json({ hits })
}

async function found(look: () => Promise<SearchHit>): Promise<SearchHit[]> {
  try {
    return [await look()]
  } catch (error) {
    if (error instanceof MeridianProblem && error.status === 404) return []
    throw error
  }
}
