import { redirect } from '@sveltejs/kit'
import { log } from '#lib/server/log.ts'
import { attemptCookie, attemptSeconds, beginSignIn } from '#lib/server/oidc.ts'
import { safeReturnTo } from '#lib/server/return-to.ts'
import { cookieBase } from '#lib/server/security.ts'
import { CONSOLE_URL } from '$app/env/private'
import type { RequestHandler } from './$types'

/** Leaves for the identity provider, and remembers in a sealed cookie that this browser began. */
export const GET: RequestHandler = async ({ url, cookies }) => {
  const returnTo = safeReturnTo(url.searchParams.get('returnTo'), CONSOLE_URL.origin)
  const begun = await beginSignIn(returnTo).catch((error: unknown) => {
    log.error({ err: error }, 'the identity provider does not answer')
    redirect(303, `/login?problem=unreachable&returnTo=${encodeURIComponent(returnTo)}`)
  })
  cookies.set(attemptCookie(begun.state), begun.sealed, { ...cookieBase, path: '/auth', maxAge: attemptSeconds })
  redirect(303, begun.url, { external: [begun.url.origin] })
}
