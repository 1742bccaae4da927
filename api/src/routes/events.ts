import { parsePosition } from '@meridian/core/event/read'
import { z } from 'zod'
import type { Subscriber } from '../http/event-hub.ts'
import { alreadyAnswered, needs, operation } from '../http/operation.ts'
import { openSse } from '../http/sse.ts'
import { eventToWire, eventWire } from '../wire/event.ts'

const heartbeatMs = 15_000
/** Under a minute, so that a peer which vanished without a word is let go within one. Readers resume where they were. */
const ageMaxMs = 50_000
const writeTimeoutMs = 10_000

const stream = operation({
  id: 'streamEvents',
  method: 'get',
  path: '/v1/events/stream',
  tag: 'Events',
  summary: "Follow the project's events live",
  description:
    'Server-sent events: each with its `id`, its type as `event`, and the event as JSON in `data`. The first one is `stream.ready`. The stream ends by itself after less than a minute; come back with `Last-Event-ID` and nothing is missed. After a long absence it starts with `stream.reset` instead: reload what you show.',
  access: needs('runs:read'),
  query: z.strictObject({
    lastEventId: z.string().max(40).optional().meta({ description: 'Instead of the header `Last-Event-ID`.' }),
  }),
  answer: { status: 200, description: 'A stream of events.', schema: eventWire, mediaType: 'text/event-stream' },
  async handle({ ctx, caller, query, header, incoming, outgoing, services, responseHeaders }) {
    const after = header('last-event-id') ?? query.lastEventId
    if (after !== undefined) parsePosition(after)
    let sse: ReturnType<typeof openSse> | undefined
    const subscriber: Subscriber = {
      ctx,
      take(events) {
        sse?.send(
          events.map((event) => ({ id: event.position, event: event.type, data: JSON.stringify(eventToWire(event)) })),
        )
        return sse?.isKeepingUp ?? false
      },
      ready: () => sse?.drained() ?? Promise.resolve(),
      close: () => sse?.end(),
    }
    const { position, isReset } = await services.events.subscribe(subscriber, after)
    sse = openSse(incoming, outgoing, responseHeaders, {
      heartbeatMs,
      ageMaxMs,
      writeTimeoutMs,
      // A credential that has ended takes its streams with it.
      check: () => services.authenticator.authenticate(`Bearer ${caller.token}`),
    })
    sse.send([{ id: position, event: isReset ? 'stream.reset' : 'stream.ready', data: '{}' }])
    await sse.closed
    services.events.unsubscribe(subscriber)
    return alreadyAnswered
  },
})

export const eventOperations = [stream]
