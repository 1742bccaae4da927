import type { Me, Project, Tenant } from '#lib/me.ts'
import type { Preferences } from '#lib/reader.svelte.ts'
import type { Session } from '#lib/server/session.ts'

declare global {
  namespace App {
    interface Error {
      message: string
      /** What it means and what to do, in the words of the API. */
      detail?: string
      requestId?: string
    }

    interface Locals {
      preferences: Preferences
      /** The instant this request is answered at; every page of it agrees on it. */
      now: number
      session: { id: string; session: Session } | undefined
      me: Me | undefined
      open: { tenant: Tenant; project: Project } | undefined
    }

    interface PageData {
      me?: Me
    }
  }
}
