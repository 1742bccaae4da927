import type { Meridian } from '@meridian/sdk'
import type { Me, Project, Tenant } from '#lib/me.ts'
import type { Preferences } from '#lib/reader.svelte.ts'
import type { Session } from '#lib/server/session.ts'

declare global {
  namespace App {
    interface Error {
      message: string
      /** What it means and what to do, in the words of the API. */
      detail?: string
      requestId?: string | undefined
      /** After how many seconds another try makes sense. */
      waitSeconds?: number | undefined
    }

    interface Locals {
      preferences: Preferences
      /** The instant this request is answered at; every page of it agrees on it. */
      now: number
      session: { id: string; session: Session } | undefined
      me: Me | undefined
      /** Why nobody can tell who asks: the API does not answer, or asks for patience. */
      trouble: unknown
      /** The project that the path names, with the API as this person may use it there. */
      open: { tenant: Tenant; project: Project; sdk: Meridian } | undefined
    }

    interface PageData {
      me?: Me
      /** Something in the open project fails right now. */
      failing?: boolean
    }
  }
}
