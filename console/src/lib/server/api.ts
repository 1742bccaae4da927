import { API_URL } from '$app/env/private'
import type { Me } from '#lib/me.ts'
import type { Session } from './session.ts'

export const isEnded = (error: unknown): boolean => error instanceof Error && error.message === '401'

async function call<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(new URL(path, API_URL), { ...init, headers: { 'content-type': 'application/json', ...init.headers } })
  if (!response.ok) throw new Error(String(response.status))
  return (response.status === 204 ? undefined : await response.json()) as T
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export async function openSession(idToken: string): Promise<Session> {
  return { ...(await call<Omit<Session, 'idToken'>>('/v1/sessions', { method: 'POST', body: JSON.stringify({ idToken }) })), idToken }
}
export const readMe = (token: string): Promise<Me> => call('/v1/me', { headers: bearer(token) })
export const endSession = (token: string): Promise<void> => call('/v1/sessions/current', { method: 'DELETE', headers: bearer(token) })
