import { redirect } from '@sveltejs/kit'
import { log } from '#lib/server/log.ts'
import { signOutUrl } from '#lib/server/oidc.ts'
import { sdkFor } from '#lib/server/sdk.ts'
import { cookieBase } from '#lib/server/security.ts'
import { sessionCookie } from '#lib/server/session.ts'
import { sessions } from '#lib/server/sessions.ts'
import type { RequestHandler } from './$types'

/** Ends the session here, at the API and at the identity provider, in this order; a step that fails stops no other. */
export const POST: RequestHandler = async ({ cookies }) => {
  const id = cookies.get(sessionCookie)
  cookies.delete(sessionCookie, cookieBase)
  const session = id === undefined ? undefined : await sessions.read(id)
  if (id === undefined || !session) redirect(303, '/login?signedOut')
  await sessions.destroy(id)
  await sdkFor(session.token)
    .sessions.close()
    .catch((error: unknown) => log.warn({ err: error }, 'the API did not end the session'))
  const elsewhere = await signOutUrl(session.idToken).catch((error: unknown) => {
    log.warn({ err: error }, 'the identity provider does not answer')
    return undefined
  })
  if (elsewhere) redirect(303, elsewhere, { external: [elsewhere.origin] })
  redirect(303, '/login?signedOut')
}
