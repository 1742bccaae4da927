// @ts-nocheck
const core = '/work/main/core/src/schedule/'
export const POST = async ({ request }) => {
  const { parseSchedule } = await import(/* @vite-ignore */ core + 'schedule.ts')
  const { previewSchedule } = await import(/* @vite-ignore */ core + 'preview.ts')
  const { schedule } = await request.json()
  const parsed = parseSchedule(schedule)
  if (!parsed.ok) return Response.json({ faults: parsed.problems })
  return Response.json({ preview: previewSchedule(parsed.schedule, Temporal.Now.instant(), 10) })
}
