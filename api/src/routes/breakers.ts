import { hostValue } from '@meridian/core/breaker/breaker'
import { getBreaker, listBreakers } from '@meridian/core/breaker/list'
import { closeBreaker, openBreaker } from '@meridian/core/breaker/set-state'
import { getBreakerSettings, updateBreakerSettings } from '@meridian/core/breaker/settings'
import { pauseReasonValue } from '@meridian/core/job/job'
import { z } from 'zod'
import { expectedVersion } from '../http/etag.ts'
import { needs, operation, Reply } from '../http/operation.ts'
import {
  breakerSettingsChanges,
  breakerSettingsToWire,
  breakerSettingsWire,
  breakerToWire,
  breakerWire,
} from '../wire/breaker.ts'
import { pageOf, pageQuery, toPage, toPageRequest } from '../wire/page.ts'
import { pathId } from '../wire/values.ts'

const breakerParams = z.object({ breakerId: pathId('brk') })
const reason = pauseReasonValue.nullable().default(null)

const list = operation({
  id: 'listBreakers',
  method: 'get',
  path: '/v1/breakers',
  tag: 'Breakers',
  summary: 'List breakers that are not closed',
  description: 'Breakers are of the organisation: a host that fails for one project is left alone by all.',
  access: needs('queues:read'),
  query: z.strictObject({
    ...pageQuery,
    all: z
      .stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], error: 'must be true or false' })
      .default(false)
      .meta({ type: 'boolean', description: 'Also those that are closed by now.' }),
  }),
  answer: { status: 200, description: 'A page of breakers.', schema: pageOf(breakerWire) },
  handle: async ({ ctx, query: { all, ...page } }) =>
    toPage(await listBreakers(ctx, { all }, toPageRequest(page)), breakerToWire),
})

const get = operation({
  id: 'getBreaker',
  method: 'get',
  path: '/v1/breakers/{breakerId}',
  tag: 'Breakers',
  summary: 'Get a breaker',
  access: needs('queues:read'),
  params: breakerParams,
  answer: { status: 200, description: 'The breaker.', schema: breakerWire },
  handle: async ({ ctx, params }) => breakerToWire(await getBreaker(ctx, params.breakerId)),
})

const open = operation({
  id: 'openBreaker',
  method: 'post',
  path: '/v1/breakers',
  tag: 'Breakers',
  summary: 'Open the breaker of a host by hand',
  description: 'Runs that are to call it are held until it is closed by hand. No attempt is spent by waiting.',
  access: needs('queues:write'),
  body: z.strictObject({ host: hostValue, reason }).meta({ id: 'OpenBreaker' }),
  example: { host: 'api.example.com', reason: 'They move to another data centre tonight.' },
  answer: { status: 200, description: 'The breaker.', schema: breakerWire },
  problems: ['quota-exceeded'],
  handle: async ({ ctx, body }) => breakerToWire(await openBreaker(ctx, body)),
})

const close = operation({
  id: 'closeBreaker',
  method: 'post',
  path: '/v1/breakers/{breakerId}/close',
  tag: 'Breakers',
  summary: 'Close a breaker by hand',
  description: 'What it holds goes in order, faster and faster, unless the host fails again.',
  access: needs('queues:write'),
  params: breakerParams,
  body: z.strictObject({ reason }).meta({ id: 'CloseBreaker' }),
  isBodyOptional: true,
  example: { reason: 'They say that it is mended.' },
  answer: { status: 200, description: 'The breaker.', schema: breakerWire },
  handle: async ({ ctx, params, body }) => breakerToWire(await closeBreaker(ctx, params.breakerId, body.reason)),
})

const getSettings = operation({
  id: 'getBreakerSettings',
  method: 'get',
  path: '/v1/breaker-settings',
  tag: 'Breakers',
  summary: 'Get when breakers open',
  access: needs('queues:read'),
  hasEtag: true,
  answer: { status: 200, description: 'The settings of the organisation.', schema: breakerSettingsWire },
  async handle({ ctx }) {
    const settings = await getBreakerSettings(ctx)
    return new Reply(breakerSettingsToWire(settings), { version: settings.version })
  },
})

const updateSettings = operation({
  id: 'updateBreakerSettings',
  method: 'patch',
  path: '/v1/breaker-settings',
  tag: 'Breakers',
  summary: 'Change when breakers open, or turn them off',
  description: 'Known to all executors within ten seconds. Turned off, what is held goes.',
  access: needs('queues:write'),
  body: breakerSettingsChanges,
  example: { failures: 50 },
  isGuarded: true,
  answer: { status: 200, description: 'The settings of the organisation.', schema: breakerSettingsWire },
  async handle({ ctx, body, header }) {
    const settings = await updateBreakerSettings(ctx, body, expectedVersion(header('if-match')))
    return new Reply(breakerSettingsToWire(settings), { version: settings.version })
  },
})

export const breakerOperations = [list, get, open, close, getSettings, updateSettings]
