import { safeReturnTo } from '#lib/server/return-to.ts'
import { CONSOLE_URL } from '$app/env/private'
import type { PageServerLoad } from './$types'

const problems: Record<string, string> = {
  unreachable: 'The identity provider does not answer. Try again in a moment.',
  denied: 'The identity provider did not let you in.',
  refused: 'The answer of the identity provider could not be trusted, so it was thrown away. Start again.',
  expired: 'That sign-in was begun more than ten minutes ago, or in another browser. Start again.',
  unknown: 'You are known to the identity provider, but not here. Ask an owner of your organisation to invite you.',
}

export const load: PageServerLoad = ({ url }) => {
  const returnTo = safeReturnTo(url.searchParams.get('returnTo'), CONSOLE_URL.origin)
  return {
    signInHref: returnTo === '/' ? '/auth/login' : `/auth/login?returnTo=${encodeURIComponent(returnTo)}`,
    problem: problems[url.searchParams.get('problem') ?? ''],
    continues: returnTo !== '/',
  }
}
