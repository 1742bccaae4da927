import { type Breaker, breakerSettingsShape, breakerStates } from '@meridian/core/breaker/breaker'
import type { TenantBreakerSettings } from '@meridian/core/breaker/settings'
import { toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { actor, instant, toActorOrNull, toInstant, toInstantOrNull, toWireIdOrNull, wireId } from './values.ts'

export const breakerWire = z
  .strictObject({
    id: wireId('brk'),
    host: z
      .string()
      .meta({ description: 'With the port when that is not the usual one.', examples: ['api.example.com'] }),
    state: z.enum(breakerStates).meta({
      id: 'BreakerState',
      description:
        'Open: runs are held. Half-open: one is on its way to see whether the host is back. Draining: it is, and what was held goes in order. Closed: all is well.',
    }),
    since: instant.meta({ description: 'Since when it is open, draining or closed.' }),
    openedAt: instant,
    openedBy: actor.nullable().meta({ description: 'Who opened it by hand; null: the failures of the host.' }),
    reason: z.string().nullable(),
    closedAt: instant.nullable(),
    closedBy: actor.nullable(),
    failures: z.int().meta({ description: 'Within the window, when it opened.' }),
    error: z.string().nullable().meta({ description: 'Machine code of the last failure.' }),
    httpStatus: z.int().nullable(),
    probesFailed: z.int().meta({ description: 'Since it opened.' }),
    probeAt: instant.nullable().meta({ description: 'When the next run is let go to it; null: not by itself.' }),
    probeRun: wireId('run').nullable().meta({ description: 'The run that is on its way to it.' }),
    held: z.int().meta({ description: 'Runs that it holds; counting stops at 10,000.' }),
  })
  .meta({ id: 'Breaker' })

export const breakerToWire = (breaker: Breaker): z.output<typeof breakerWire> => ({
  ...breaker,
  id: toWireId('brk', breaker.id),
  since: toInstant(breaker.since),
  openedAt: toInstant(breaker.openedAt),
  openedBy: toActorOrNull(breaker.openedBy),
  closedAt: toInstantOrNull(breaker.closedAt),
  closedBy: toActorOrNull(breaker.closedBy),
  probeAt: toInstantOrNull(breaker.probeAt),
  probeRun: toWireIdOrNull('run', breaker.probeRun),
})

const settingsShape = {
  isEnabled: breakerSettingsShape.isEnabled.meta({ description: 'Off: no breaker opens by itself.' }),
  failures: breakerSettingsShape.failures.meta({
    description: 'So many failures within the window, as one executor sees them,',
  }),
  failureShare: breakerSettingsShape.failureShare.meta({
    description: 'that are at least this share of the attempts, open the breaker of a host.',
  }),
  windowSeconds: breakerSettingsShape.windowSeconds,
}

export const breakerSettingsWire = z
  .strictObject({ ...settingsShape, version: z.int().meta({ description: '0: the defaults.' }) })
  .meta({ id: 'BreakerSettings' })

export const breakerSettingsChanges = z.strictObject(settingsShape).partial().meta({ id: 'BreakerSettingsChanges' })

export const breakerSettingsToWire = (settings: TenantBreakerSettings): z.output<typeof breakerSettingsWire> => settings
