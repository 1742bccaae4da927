// oxlint-disable-next-line import/default -- Vite gives the text of the file as its default export
import script from '../../../../docs/guides/verify-certificate.mjs?raw'
import type { RequestHandler } from './$types'

/** The verifier of certificates, to keep: it needs Node and nothing of Meridian. */
export const GET: RequestHandler = () =>
  new Response(script, {
    headers: {
      'content-type': 'text/javascript',
      'content-disposition': 'attachment; filename="verify-certificate.mjs"',
    },
  })
