import { Meridian, MeridianProblem } from '@meridian/sdk'
import { type Me, meOf } from '#lib/me.ts'
import type { ProblemView } from '#lib/problem.ts'
import { API_URL } from '$app/env/private'
import type { Session } from './session.ts'

// A person looks at an empty screen meanwhile, and would rather know.
const patienceMs = 1_500
const timeoutMs = 15_000

/** The API as one person may use it; in a project once one is named. */
export function sdkFor(token: string | undefined, projectId?: string): Meridian {
  return new Meridian({ baseUrl: API_URL.href, token, projectId, patienceMs, timeoutMs })
}

/** Trades an ID token for a session of the API. Throws a `MeridianProblem` when the person is not known there. */
export async function openSession(idToken: string): Promise<Session> {
  const { token, user, expiresAt } = await sdkFor(undefined).sessions.open({ idToken })
  return { token, user, expiresAt, idToken }
}

/** Who a session belongs to and where they may go. Throws a `MeridianProblem` when it has ended. */
export async function readMe(token: string): Promise<Me> {
  const me = await sdkFor(token).me()
  if (me.kind !== 'session') throw new Error('a session token answered as an API key')
  return meOf(me)
}

/** Whether the API no longer knows the session. */
export const isEnded = (error: unknown): boolean => error instanceof MeridianProblem && error.status === 401

/** A problem of the API for showing it. */
export const toView = ({ title, detail, requestId, errors }: MeridianProblem): ProblemView => ({
  title,
  detail,
  requestId,
  errors: [...errors],
})
