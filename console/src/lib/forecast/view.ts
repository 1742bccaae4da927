const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** How far the page looks ahead, and how wide the columns are that it draws. */
export const spans = [
  { name: '24h', words: 'Next 24 hours', length: day, columnMs: 5 * minute },
  { name: '7d', words: 'Next 7 days', length: 7 * day, columnMs: 30 * minute },
  { name: '30d', words: 'Next 30 days', length: 30 * day, columnMs: 2 * hour },
] as const

export type Span = (typeof spans)[number]

/** What the load is divided by. */
export const divisions = [
  { kind: 'queue', words: 'Queues' },
  { kind: 'host', words: 'Hosts' },
  { kind: 'pool', words: 'Pools' },
] as const

export type Division = (typeof divisions)[number]['kind']

/** What the page shows. */
export interface View {
  span: Span
  by: Division
  /** The one of them that is looked at. */
  name: string | undefined
}

/** Reads `?next=30d&by=host&name=…`; anything unreadable is the next 24 hours by queue. */
export function readView(params: Pick<URLSearchParams, 'get'>): View {
  const span = spans.find(({ name }) => name === params.get('next')) ?? spans[0]
  const by = divisions.find(({ kind }) => kind === params.get('by'))?.kind ?? 'queue'
  return { span, by, name: params.get('name') ?? undefined }
}
