import type { Target } from '@meridian/sdk'
import { type HeaderForm, headerForms, headersOf } from './header-form.ts'

export const endings = ['success', 'failure'] as const
export type Ending = (typeof endings)[number]

/** Who is told of an end, as it is typed; nobody with an empty URL. */
export type CallbackForm = Record<Ending, { url: string; headers: HeaderForm[] }>

type Callbacks = NonNullable<Target['callbacks']>

export function callbackFormOf(callbacks: Callbacks | undefined): CallbackForm {
  const form = (ending: Ending) => ({
    url: callbacks?.[ending]?.url ?? '',
    headers: headerForms(callbacks?.[ending]?.headers),
  })
  return { success: form('success'), failure: form('failure') }
}

/** What the target says of callbacks; undefined when nobody is told. */
export function callbacksOf(form: CallbackForm): Callbacks | undefined {
  const told = endings.flatMap((ending) => {
    const { url, headers } = form[ending]
    return url.trim() === '' ? [] : [[ending, { url: url.trim(), headers: headersOf(headers) }] as const]
  })
  return told.length === 0 ? undefined : Object.fromEntries(told)
}

/** Who is told of what, a line each: `Of a failure: https://…`. */
export const callbackWords = (callbacks: Target['callbacks']): string[] =>
  endings.flatMap((ending) => {
    const told = callbacks?.[ending]
    return told === undefined ? [] : [`Of a ${ending}: ${told.url}`]
  })
