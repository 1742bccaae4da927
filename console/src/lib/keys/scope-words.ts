import { type Scope, scopes } from '#lib/access.ts'

/** What each scope lets its holder do. */
export const scopeMeanings: Record<Scope, string> = {
  'jobs:read': 'See jobs and schedules',
  'jobs:write': 'Make, change, pause and delete jobs',
  'runs:read': 'See runs and how they ended',
  'runs:write': 'Start, cancel and replay runs',
  'payloads:read': 'See requests, answers and logs',
  'queues:read': 'See queues and limits',
  'queues:write': 'Make, change and pause queues and limits',
  'calendars:read': 'See calendars and blackouts',
  'calendars:write': 'Make, change and delete calendars and blackouts',
  'projects:read': 'See the project',
  'projects:write': 'Change the project',
  'keys:read': 'See API keys',
  'keys:write': 'Make and revoke API keys',
  'operations:read': 'See work on many things and how far it is',
  'operations:write': 'Start, pause, abort and undo work on many things',
}

/** Common sets of scopes, so that nobody ticks boxes for the usual key. */
export const scopeSets: readonly { name: string; words: string; scopes: readonly Scope[] }[] = [
  {
    name: 'run',
    words: 'Start runs and follow them',
    scopes: ['jobs:read', 'runs:read', 'runs:write', 'payloads:read'],
  },
  {
    name: 'manage',
    words: 'Manage jobs as well',
    scopes: ['jobs:read', 'jobs:write', 'runs:read', 'runs:write', 'payloads:read', 'queues:read', 'queues:write'],
  },
  {
    name: 'read',
    words: 'Only look',
    scopes: ['jobs:read', 'runs:read', 'queues:read', 'calendars:read', 'projects:read'],
  },
  { name: 'all', words: 'Everything', scopes },
]

/** A key's scopes in few words: the name of a set when it is one. */
export function scopeWords(held: readonly string[]): string {
  const set = scopeSets.find(
    (candidate) => candidate.scopes.length === held.length && candidate.scopes.every((scope) => held.includes(scope)),
  )
  return set ? set.words : held.join(', ')
}
