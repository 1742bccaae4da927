import type { Ctx } from '@meridian/core/db/context'
import type { FoundBy, IntakeResult } from '@meridian/core/run/accept'
import type { Run } from '@meridian/core/run/run'
import type { z } from 'zod'
import { runToWire, type runWire } from '../wire/run.ts'
import type { Services } from './env.ts'
import type { Accepted } from './intake.ts'
import { Reply } from './operation.ts'

/** Whether its key led a create to a run that was there, of which only the id is known. */
export const isFound = (result: IntakeResult): result is Accepted & { outcome: 'collected' | FoundBy } =>
  result.outcome !== 'accepted' && result.outcome !== 'replayed' && result.outcome !== 'refused'

/** The run as it is shown to whoever asked for it. One that was there already is shown as it stands. */
export const shownRun = async ({ runReads }: Services, ctx: Ctx, accepted: Accepted): Promise<Run> =>
  isFound(accepted) ? await runReads.get(ctx, accepted.run.id) : accepted.run

/** The answer to a create: 201 and the run, or 200 and the earlier one that its key led to, with a header that says how. */
export async function createdRun(
  services: Services,
  ctx: Ctx,
  accepted: Accepted,
): Promise<Reply<z.output<typeof runWire>>> {
  const wire = runToWire(await shownRun(services, ctx, accepted))
  const { outcome } = accepted
  if (outcome === 'accepted' || outcome === 'collected') return new Reply(wire, {})
  if (outcome === 'replayed') return new Reply(wire, { headers: { 'idempotency-replayed': 'true' } })
  return new Reply(wire, { status: 200, headers: { 'existing-run': outcome } })
}

/** What the documents say about the second answer. */
export const existingRun = {
  status: 200 as const,
  description:
    'A run that was there: its key led to it. The header `Existing-Run` says how (`deduplicated` or `debounced`).',
}
