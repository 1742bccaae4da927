import type { Import, NewImport } from '@meridian/sdk'

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
  /** What becomes of jobs of an earlier import that are not in it any more. */
  vanished: 'keep' | 'pause' | 'archive'
}

/** An empty form; after an earlier import the one that brings its jobs up to date. */
export function draftAfter(earlier: Import | undefined, zone: string): ImportDraft {
  const prefix = earlier?.prefix.replace(/:$/, '') ?? ''
  return {
    source: '',
    fileName: earlier?.fileName ?? '',
    format: earlier?.format ?? '',
    timezone: earlier?.timezone ?? zone,
    prefix: prefix === earlier?.format ? '' : prefix,
    url: '',
    method: 'POST',
    authorization: '',
    mode: 'shadow',
    vanished: 'keep',
  }
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
    ...(draft.vanished === 'keep' ? {} : { vanished: draft.vanished }),
    ...(draft.format === '' ? {} : { format: draft.format as NonNullable<NewImport['format']> }),
    ...(draft.fileName === '' ? {} : { fileName: draft.fileName }),
    ...(draft.prefix.trim() === '' ? {} : { prefix: draft.prefix.trim() }),
    ...(url === '' ? {} : { target: { url, method: draft.method, ...headers } }),
  }
}
