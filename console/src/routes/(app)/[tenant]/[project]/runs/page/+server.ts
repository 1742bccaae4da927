import { jobNames } from '#lib/server/job-names.ts'
import { opened } from '#lib/server/open.ts'
import { runFilter } from '#lib/server/run-filter.ts'
import type { RequestHandler } from './$types'

const pageSize = 200

/** A further page of the list, for a reader who scrolls on. */
export const GET: RequestHandler = async ({ locals, url }) => {
  const { sdk } = opened(locals)
  const cursor = url.searchParams.get('cursor') ?? undefined
  const { data, nextCursor, lookedTo } = await sdk.runs
    .list({ ...runFilter(url.searchParams, locals.now), limit: pageSize, cursor })
    .page()
  return Response.json({
    runs: data,
    nextCursor,
    lookedTo: lookedTo ?? null,
    names: await jobNames(
      sdk,
      data.map((run) => run.jobId),
    ),
  })
}
