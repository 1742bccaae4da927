import type { Collision } from '@meridian/sdk'
import { axisOf, type Load, loadOf } from '#lib/forecast/columns.ts'
import { readView } from '#lib/forecast/view.ts'
import { opened } from '#lib/server/open.ts'
import { projectNow } from '#lib/server/project-now.ts'
import type { PageServerLoad } from './$types'

const least = 5

export const load: PageServerLoad = async ({ locals, url }) => {
  const { sdk } = opened(locals)
  const view = readView(url.searchParams)
  const now = await projectNow(locals)
  const until = new Date(now + view.span.length).toISOString()
  // Both come from the same plan; who meets whom follows when it is known.
  const collisions: Promise<Collision[] | undefined> = sdk.forecast.collisions({ until, least }).catch(() => undefined)
  const forecast = await sdk.forecast.load({ until })
  const axis = axisOf(forecast, view.span.columnMs)
  const begin = Date.parse(forecast.from)
  const rows = forecast.series
    .filter(({ kind }) => kind === view.by)
    .map((series): Load & { name: string } => ({ name: series.name, ...loadOf(series, axis, begin) }))
    .filter(({ sum }) => sum > 0)
  return {
    view,
    until,
    least,
    projectNow: now,
    axis,
    total: loadOf(forecast.total, axis, begin),
    rows,
    picked: rows.find(({ name }) => name === view.name),
    jobs: forecast.jobs,
    unmeasuredJobs: forecast.unmeasuredJobs,
    uncountedJobs: forecast.uncountedJobs,
    collisions,
  }
}
