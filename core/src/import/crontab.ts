import { nativeZones } from '../schedule/zone.ts'
import {
  type Action,
  changed,
  command,
  type Difference,
  excerpt,
  kept,
  type ReadOptions,
  type Source,
  type SourceEntry,
} from './entry.ts'
import { readHttpCommand } from './http-command.ts'
import { commandName, print } from './shell.ts'

// A name, an equals sign, and a value that may be quoted: crontab(5).
const setting = /^\s*(?:"([^"]+)"|'([^']+)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$/
const entryStart = /^\s*-?\s*(@[A-Za-z_]+|(?:\S+\s+){4}\S+)(?:\s+(.*))?$/s
const timeField = /^[\d*?,/~LW#-]+$|^[\d*,/~-]*(?:[A-Za-z]{3}[\d*,/~-]*)+$/
const userName = /^[a-z_][a-z0-9_.-]{0,31}\$?$/

interface State {
  timezone: string
  isZoneGiven: boolean
  /** The last `CRON_TZ` that no zone has the name of: nobody can tell when the lines below it run. */
  lostZone: { line: number; value: string } | null
  environment: Record<string, string>
  mailTo: string | null
  comment: string[]
}

/** Reads a crontab: crontab(5) of Vixie cron and cronie. `hasUser`: the sixth field is the user who runs it. */
export function readCrontab(text: string, { timezone }: ReadOptions, hasUser: boolean): Source {
  const source: Source = { entries: [], notes: [], problems: [] }
  const state: State = { timezone, isZoneGiven: false, lostZone: null, environment: {}, mailTo: null, comment: [] }
  const used = new Map<string, number>()
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1
    const trimmed = raw.trim()
    if (trimmed === '') {
      state.comment = []
    } else if (trimmed.startsWith('#')) {
      takeComment(source, state, { line, trimmed, hasUser })
    } else {
      const given = setting.exec(raw)
      if (given !== null && !looksLikeEntry(trimmed)) takeSetting(source, state, { line, trimmed, given })
      else {
        const entry = readLine(raw, line, state, hasUser)
        const count = (used.get(entry.key) ?? 0) + 1
        used.set(entry.key, count)
        source.entries.push(count === 1 ? entry : { ...entry, key: `${entry.key}-${count}` })
        state.comment = []
      }
    }
  }
  return source
}

const looksLikeEntry = (line: string): boolean => {
  const fields = line.split(/\s+/, 5)
  return fields.length === 5 && fields.every((field) => timeField.test(field))
}

/** Whether the lines of a file have a user before their command. */
export function hasUserColumn(text: string): boolean {
  const sixth = text.split(/\r?\n/).flatMap((line) => {
    const trimmed = line.trim()
    if (trimmed.startsWith('#') || (!looksLikeEntry(trimmed) && !/^-?@\w/.test(trimmed))) return []
    const rest = (entryStart.exec(trimmed)?.[2] ?? '').split(/\s+/)
    return [rest]
  })
  const known = new Set([
    'root',
    'www-data',
    'nobody',
    'daemon',
    'postgres',
    'mysql',
    'nginx',
    'ubuntu',
    'deploy',
    'git',
  ])
  return (
    sixth.length > 0 &&
    sixth.every(([user = '', next]) => userName.test(user) && next !== undefined) &&
    sixth.some(([user = '']) => known.has(user))
  )
}

function takeComment(
  source: Source,
  state: State,
  { line, trimmed, hasUser }: { line: number; trimmed: string; hasUser: boolean },
): void {
  // Without the rules that people draw around a heading.
  const comment = trimmed
    .replace(/^#+/, '')
    .replace(/^[\s=*#~_-]{3,}|[\s=*#~_-]{3,}$/g, '')
    .trim()
  if (looksLikeEntry(comment) && !isLegend(comment, hasUser)) {
    source.notes.push({ line, text: excerpt(trimmed), detail: 'A line that is commented out: it is left out.' })
    state.comment = []
  } else if (/\p{L}/u.test(comment) && !isLegend(comment, hasUser)) state.comment.push(comment)
}

/** The picture of the fields that most crontabs start with. */
const isLegend = (comment: string, hasUser: boolean): boolean =>
  /^m\s+h\s+dom\s+mon\s+dow/i.test(comment) ||
  /^[*|.\s]+$/.test(comment) ||
  /[|.]-{3,}/.test(comment) ||
  (hasUser && /^\*(\s+\*){4}\s+user-?name\b/i.test(comment)) ||
  /^\*(\s+\*){4}\s+(<?user|command)/i.test(comment) // prettier-ignore

function takeSetting(
  source: Source,
  state: State,
  { line, trimmed, given }: { line: number; trimmed: string; given: RegExpExecArray },
): void {
  const name = given[1] ?? given[2] ?? given[3] ?? ''
  const value = (given[4] ?? '').replace(/^(["'])(.*)\1$/s, '$2')
  state.comment = []
  const note = (detail: string): void => void source.notes.push({ line, text: excerpt(trimmed), detail })
  if (name === 'CRON_TZ') {
    const zone = nativeZones.find(value)
    if (zone === undefined) {
      source.problems.push({ line, detail: `\`${value}\` is not a time zone of the IANA database` })
      state.lostZone = { line, value: excerpt(value) }
      return
    }
    state.lostZone = null
    state.timezone = zone.id
    state.isZoneGiven = true
    note(`The lines below are read in ${zone.id}.`)
  } else if (name === 'MAILTO') {
    state.mailTo = value
    note(
      value === '' ? 'Output is not mailed.' : 'Output was mailed. Here it is kept with each run, and failures alert.',
    )
  } else {
    state.environment = { ...state.environment, [name]: value }
    note(
      name === 'TZ'
        ? 'This sets the clock of the commands below, not when they run: it travels with them as environment.'
        : `Travels with the commands below as environment${name === 'SHELL' ? ': whoever runs them should use it' : ''}.`,
    )
  }
}

function readLine(raw: string, line: number, state: State, hasUser: boolean): SourceEntry {
  const match = entryStart.exec(raw)
  const isEntry = match !== null
  const [, when = raw.trim(), after = ''] = match ?? []
  const [, user = null, rest = after] = hasUser
    ? (/^(\S+)\s+(.*)$/s.exec(after) ?? [undefined, null, ''])
    : [undefined, null, after]
  const { command: text, input } = splitPercent(rest ?? '')
  const differences: Difference[] = []
  const problems: string[] = []
  const http = text === '' || input !== null ? null : readHttpCommand(text)
  const action: Action =
    http === null
      ? command(text, { user, input, environment: state.environment })
      : { kind: 'http', target: http.target }
  if (text === '' && isEntry)
    problems.push(hasUser && after !== '' ? 'There is a user but no command.' : 'There is no command after the time.')
  if (input !== null)
    differences.push(
      kept('shell', 'What follows the first `%` is the standard input of the command: it travels as `input`.'),
    )
  if (raw.trimStart().startsWith('-'))
    differences.push(kept('shell', 'The `-` in front only keeps the line out of syslog.'))
  if (http !== null)
    differences.push(
      kept('command', 'The command is an HTTP call: it becomes one.'),
      ...ownHost(http.target.url),
      ...http.differences,
    )
  else if (user !== null)
    differences.push(kept('user', `Runs as \`${user}\` there: the name travels with the request.`))
  if (state.mailTo)
    differences.push(
      changed('mail', `Its output was mailed to ${excerpt(state.mailTo)}; here it is kept with the run.`),
    )
  if (state.lostZone !== null) {
    const { value } = state.lostZone
    problems.push(
      `Line ${state.lostZone.line} sets the time zone \`${value}\`, which there is none of: when this runs can't be told.`,
    )
  } else if (!state.isZoneGiven)
    differences.push(kept('zone', `The file names no zone: read as ${state.timezone}, the zone of its machine.`))
  else differences.push(kept('zone', 'CRON_TZ holds, as in cronie. The cron of Debian and Ubuntu ignores it.'))
  const name = http === null ? commandName(text || when) : urlName(http.target.url)
  return {
    line,
    text: excerpt(raw.trim()),
    key: `${slug(name)}-${print(`${user ?? ''}\n${rest ?? ''}`)}`,
    name,
    description: state.comment.length === 0 ? null : state.comment.join('\n').slice(0, 4_000),
    ...(state.lostZone === null ? timing(when, state.timezone, problems) : { schedule: null }),
    // cron starts a command whether or not the last one is still running.
    overlap: 'allow',
    // And makes up for nothing that it missed while the machine was off.
    rules: { catchUp: 'skip' },
    ...(http?.retryLimit == null ? {} : { retry: { limit: http.retryLimit, delay: 'PT1S', maxDelay: 'PT1M' } }),
    isPaused: false,
    action,
    differences,
    problems,
  }
}

function timing(when: string, timezone: string, problems: string[]): { schedule: unknown } {
  if (/^@reboot$/i.test(when)) {
    problems.push('`@reboot` has no time: it runs when that machine starts, which nobody here can know.')
    return { schedule: null }
  }
  const fields = when.split(/\s+/)
  if (!when.startsWith('@') && fields.length !== 5) {
    problems.push('This is neither a setting nor an entry: an entry has five time fields and a command.')
    return { schedule: null }
  }
  if (/\d~|~\d|(^|\s|,)~/.test(when)) {
    problems.push(
      '`~` picks a random value each time cron starts. Write `H` for one that stays the same, or choose one.',
    )
    return { schedule: null }
  }
  return { schedule: { type: 'cron', cron: fields.join(' '), timezone } }
}

/** A machine that calls itself is meant, which is another one from here. */
const ownHost = (url: string): Difference[] => {
  const { hostname } = new URL(url)
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
    ? [changed('command', `\`${hostname}\` is that machine there, and another one here: give the call its name first.`)]
    : []
}

/** What a call is named: where it goes, without what may be a secret. */
const urlName = (url: string): string => {
  const { host, pathname } = new URL(url)
  return excerpt(`${host}${pathname === '/' ? '' : pathname}`).slice(0, 120)
}

/** The first `%` that is not escaped ends the command; the rest is its standard input, each `%` a new line. */
export function splitPercent(text: string): { command: string; input: string | null } {
  const parts = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'))
  const [first = '', ...rest] = parts
  return { command: first.trim(), input: rest.length === 0 ? null : `${rest.join('\n')}\n` }
}

export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '') || 'entry'
