import { type EventType, eventTypes, type StoredEvent } from '@meridian/core/event/event'
import { type IdPrefix, toWireId } from '@meridian/core/kernel/ids'
import { z } from 'zod'
import { instant, toWireIdOrNull, wireId } from './values.ts'

export const eventWire = z
  .strictObject({
    id: z.string().meta({
      description: 'Its place in the order of all events; a stream resumes behind it.',
      examples: ['81723-4711'],
    }),
    type: z.enum(eventTypes),
    at: instant,
    subject: z
      .string()
      .nullable()
      .meta({ description: 'The id of what it is about.', examples: ['run_01h455vb4pex5vsknk084sn02q'] }),
    jobId: wireId('job').nullable(),
    data: z.record(z.string(), z.unknown()).nullable(),
  })
  .meta({ id: 'Event' })

const prefixOf = (type: EventType): IdPrefix => {
  const noun = type.slice(0, type.indexOf('.'))
  if (noun === 'job' || noun === 'occurrence' || noun === 'certificate') return 'job'
  if (noun === 'calendar') return 'cal'
  if (noun === 'blackout') return 'blk'
  if (noun === 'queue') return 'que'
  if (type === 'breaker.configured') return 'prj'
  if (noun === 'breaker') return 'brk'
  if (noun === 'limit') return 'lim'
  if (noun === 'project') return 'prj'
  if (noun === 'share') return 'ten'
  if (noun === 'key') return 'key'
  if (noun === 'import') return 'imp'
  if (noun === 'operation') return 'op'
  if (noun === 'test-clock') return 'clk'
  return 'run'
}

/** `at` is text when the event comes from Redis. */
export const eventToWire = ({
  position,
  type,
  at,
  subject,
  jobId,
  data,
}: Omit<StoredEvent, 'at'> & { at: Date | string }): z.output<typeof eventWire> => ({
  id: position,
  type,
  at: new Date(at).toISOString(),
  subject: subject === null ? null : toWireId(prefixOf(type), subject),
  jobId: toWireIdOrNull('job', jobId),
  data,
})
