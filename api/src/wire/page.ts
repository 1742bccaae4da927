import type { Page, PageRequest } from '@meridian/core/kernel/page'
import { z } from 'zod'
import { wholeNumber } from './values.ts'

const limitMax = 200
const limitDefault = 50

/** The query parameters of every list. */
export const pageQuery = {
  limit: wholeNumber(1, limitMax).default(limitDefault).meta({ description: 'The most items of a page.' }),
  cursor: z.string().max(200).optional().meta({ description: '`nextCursor` of the page before.' }),
}

export const toPageRequest = ({ limit, cursor }: { limit: number; cursor?: string | undefined }): PageRequest => ({
  limit,
  cursor,
})

/** The answer of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    data: z.array(item),
    nextCursor: z.string().nullable().meta({ description: 'Ask with this for the next page; null on the last one.' }),
  })

export const toPage = <Item, Wire>(
  { items, nextCursor }: Page<Item>,
  toWire: (item: Item) => Wire,
): { data: Wire[]; nextCursor: string | null } => ({
  data: items.map(toWire),
  nextCursor,
})
