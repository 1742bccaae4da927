import type { NewImport } from '@meridian/sdk'

/** What a person has put into the form of an import. */
export interface ImportDraft {
  source: string
  fileName: string
  /** Empty: told from the source. */
  format: string
  timezone: string
  prefix: string
  url: string
  method: 'GET' | 'POST' | 'PUT'
  authorization: string
  mode: 'live' | 'shadow'
}

/** The import that a draft asks for; undefined while there is nothing to look at. */
export function importOf(draft: ImportDraft): NewImport | undefined {
  if (draft.source.trim() === '') return undefined
  const url = draft.url.trim()
  const headers = draft.authorization.trim() === '' ? {} : { headers: { Authorization: draft.authorization.trim() } }
  return {
    source: draft.source,
    timezone: draft.timezone,
    mode: draft.mode,
    ...(draft.format === '' ? {} : { format: draft.format as NonNullable<NewImport['format']> }),
    ...(draft.fileName === '' ? {} : { fileName: draft.fileName }),
    ...(draft.prefix.trim() === '' ? {} : { prefix: draft.prefix.trim() }),
    ...(url === '' ? {} : { target: { url, method: draft.method, ...headers } }),
  }
}
