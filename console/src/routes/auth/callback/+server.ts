import { redirect } from '@sveltejs/kit'
import { log } from '#lib/server/log.ts'
import { attemptCookie, finishSignIn } from '#lib/server/oidc.ts'
import { openSession } from '#lib/server/sdk.ts'
import { cookieBase } from '#lib/server/security.ts'
import { sessionCookie } from '#lib/server/session.ts'
import { sessions } from '#lib/server/sessions.ts'
import type { RequestHandler } from './$types'

/** Comes back from the identity provider: checks the answer, trades it for a session, and goes where the person wanted. */
export const GET: RequestHandler = async ({ url, cookies }) => {
  const attempt = attemptCookie(url.searchParams.get('state') ?? '')
  const sealed = cookies.get(attempt)
  cookies.delete(attempt, { ...cookieBase, path: '/auth' })

  const signedIn = await finishSignIn(url, sealed).catch((error: unknown) => {
    log.warn({ err: error }, 'sign-in refused')
    redirect(303, `/login?problem=${url.searchParams.get('error') === 'access_denied' ? 'denied' : 'refused'}`)
  })
  if (!signedIn) redirect(303, '/login?problem=expired')

  const session = await openSession(signedIn.idToken).catch((error: unknown) => {
    log.warn({ err: error }, 'the API opened no session')
    redirect(303, '/login?problem=unknown')
  })
  // A session that was there before must not live on under an id somebody else may have planted.
  const before = cookies.get(sessionCookie)
  if (before !== undefined) await sessions.destroy(before)
  const id = await sessions.create(session)
  cookies.set(sessionCookie, id, { ...cookieBase, expires: new Date(session.expiresAt) })
  redirect(303, signedIn.returnTo)
}
