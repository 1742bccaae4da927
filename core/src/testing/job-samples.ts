import type { NewJob } from '../job/job.ts'
import { uuidv7 } from '../kernel/ids.ts'
import type { TestDb } from './test-db.ts'

/** A valid job; change what matters. */
export const sampleJob = (changes: Partial<NewJob> = {}): NewJob => ({
  name: 'Nightly report',
  target: {
    type: 'http',
    url: 'https://hooks.example.com/nightly?key=s3cret',
    headers: { 'X-Token': 't0ken' },
    body: { a: 1 },
  },
  ...changes,
})

/** What the trail says of one thing, oldest first, as the owner of the database sees it. */
export async function trailOf(db: TestDb, subject: string): Promise<{ events: string[]; actions: string[] }> {
  const events = await db.owner.query<{ type: string }>('select type from events where subject = $1 order by seq', [
    subject,
  ])
  const lines = await db.owner.query<{ action: string }>(
    'select action from audit_entries where subject = $1 order by id',
    [subject],
  )
  return { events: events.rows.map((row) => row.type), actions: lines.rows.map((row) => row.action) }
}

/** An id that nothing has. */
export const unknownId = (): string => uuidv7(Date.now())

/** The codes of what was refused among many. */
export const refusalsOf = (all: readonly PromiseSettledResult<unknown>[]): unknown[] =>
  all.flatMap((each) => (each.status === 'rejected' ? [(each.reason as { code?: unknown }).code] : []))
