import { MeridianConnectionError, MeridianProblem } from '@meridian/sdk'
import { error, type RequestEvent, redirect } from '@sveltejs/kit'
import { type Handle, type HandleServerError, sequence } from '@sveltejs/kit/hooks'
import { findProject } from '#lib/me.ts'
import { type Theme, themeCookie, themes, zoneCookie } from '#lib/reader.svelte.ts'
import { log } from '#lib/server/log.ts'
import { isEnded, readMe, sdkFor } from '#lib/server/sdk.ts'
import { cookieBase, secure } from '#lib/server/security.ts'
import { sessionCookie } from '#lib/server/session.ts'
import { sessions } from '#lib/server/sessions.ts'
import { isZone } from '#lib/time/words.ts'

const readPreferences: Handle = async ({ event, resolve }) => {
  const theme: Theme = themes.find((name) => name === event.cookies.get(themeCookie)) ?? 'system'
  const zone = event.cookies.get(zoneCookie)
  event.locals.preferences = { theme, zone: isZone(zone) ? zone : 'UTC' }
  event.locals.now = Date.now()
  const response = await resolve(event, {
    transformPageChunk: ({ html }) => html.replace('%meridian.theme%', theme),
    preload: ({ type, path }) =>
      type === 'js' || type === 'css' || (type === 'font' && path.includes('inter-latin-wght')),
  })
  await secure(response)
  return response
}

/** Lets a page of the app see who asks, and only what that person may open. Everyone else is sent to sign in. */
const requirePerson: Handle = async ({ event, resolve }) => {
  const { cookies, locals, params, route } = event
  if (!route.id?.startsWith('/(app)')) return resolve(event)
  const id = cookies.get(sessionCookie)
  const session = id === undefined ? undefined : await sessions.read(id)
  if (id === undefined || !session) return signIn(event)
  locals.session = { id, session }
  try {
    locals.me = await readMe(session.token)
  } catch (thrown) {
    // Told by the page, which keeps its look and its address; thrown here it would be a bare sentence.
    if (!isEnded(thrown)) {
      locals.trouble = thrown
      return resolve(event)
    }
    await sessions.destroy(id)
    cookies.delete(sessionCookie, cookieBase)
    return signIn(event)
  }
  if (params.tenant !== undefined && params.project !== undefined) {
    const found = findProject(locals.me, params.tenant, params.project)
    if (found) locals.open = { ...found, sdk: sdkFor(session.token, found.project.id) }
  }
  return resolve(event)
}

/** Pages and forms lead to the sign-in; what scripts ask for is refused, since they could not show it. */
function signIn({ request, isDataRequest, url }: RequestEvent): never {
  const isForm = request.headers.has('x-sveltekit-action')
  if (!isDataRequest && !isForm && !request.headers.get('accept')?.includes('text/html')) error(401, 'Sign in again')
  const wanted = url.pathname === '/' || request.method !== 'GET' ? '' : url.pathname + url.search
  redirect(303, wanted ? `/login?returnTo=${encodeURIComponent(wanted)}` : '/login')
}

const logRequest: Handle = async ({ event, resolve }) => {
  const begun = performance.now()
  const response = await resolve(event)
  const { method } = event.request
  const durationMs = Math.round(performance.now() - begun)
  log.info({ method, route: event.route.id, status: response.status, durationMs }, 'request')
  return response
}

export const handle = sequence(logRequest, readPreferences, requirePerson)

/** What the API refuses keeps its own words; anything else gets a fixed sentence, and its words stay in the log. */
export const handleError: HandleServerError = ({ error: caught, event, kind }) => {
  if (kind !== 'unknown') return
  if (caught instanceof MeridianProblem) {
    const { status, title: message, detail, requestId, retryAfterSeconds: waitSeconds } = caught
    return { status, message, detail, requestId, waitSeconds }
  }
  if (caught instanceof MeridianConnectionError) {
    log.error({ err: caught, route: event.route.id }, 'the API does not answer')
    return {
      status: 503,
      message: 'The API does not answer',
      detail: 'Nothing was changed as far as is known. Try again in a moment.',
    }
  }
  log.error({ err: caught, route: event.route.id }, 'unexpected error')
  return {
    status: 500,
    message: 'Something went wrong on our side',
    detail: 'It has been written down. Try again in a moment.',
  }
}
