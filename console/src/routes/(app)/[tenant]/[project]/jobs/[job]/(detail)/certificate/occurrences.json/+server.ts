import { opened } from '#lib/server/open.ts'
import type { RequestHandler } from './$types'

/** The ledger of a range as one file, which the verifier holds against the certificate. */
export const GET: RequestHandler = ({ locals, params, url }) => {
  const { sdk } = opened(locals)
  const query = { from: url.searchParams.get('from') ?? '', to: url.searchParams.get('to') ?? '', limit: 200 }
  const rows = sdk.jobs.occurrences(params.job, query)[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  let count = 0
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await rows.next()
      controller.enqueue(
        encoder.encode(
          done ? (count === 0 ? '[]\n' : '\n]\n') : `${count === 0 ? '[\n' : ',\n'}${JSON.stringify(value)}`,
        ),
      )
      count += 1
      if (done) controller.close()
    },
  })
  return new Response(body, {
    headers: {
      'content-type': 'application/json',
      'content-disposition': 'attachment; filename="occurrences.json"',
    },
  })
}
