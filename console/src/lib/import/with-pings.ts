import type { Import } from '@meridian/sdk'

const time = /^(-?\s*(?:@\S+|(?:\S+\s+){4}\S+)\s+)(.*)$/s
const user = /^(\S+\s+)(.*)$/s
const call = 'curl -fsS -m 10 --retry 3 -o /dev/null'

/**
 * The lines of a crontab, each with its pings around the command: a start before it, its exit code after. What became no
 * job stays as it is. Null for a source that is no crontab, or for a reader who may not see its lines.
 */
export function withPings(
  made: Pick<Import, 'format' | 'entries' | 'notes'>,
  urls: ReadonlyMap<string, string>,
): string | null {
  if (made.format !== 'crontab' && made.format !== 'system-crontab') return null
  const lines: { line: number; text: string }[] = []
  for (const { line, text } of made.notes) if (text !== null && !text.startsWith('#')) lines.push({ line, text })
  for (const { line, text, jobId } of made.entries) {
    if (text === null) return null
    const url = jobId === null ? undefined : urls.get(jobId)
    lines.push({ line, text: url === undefined ? whole(text) : pinging(text, url, made.format === 'system-crontab') })
  }
  return lines
    .sort((a, b) => a.line - b.line)
    .map(({ text }) => text)
    .join('\n')
}

const whole = (text: string): string =>
  text.endsWith('…') ? '# A line that is too long to be shown whole: keep the one you have.' : text

function pinging(text: string, url: string, hasUser: boolean): string {
  if (text.endsWith('…'))
    return `# Too long to be shown whole; put these around its command: ${url}/start and ${url}/$?`
  const [, when = '', rest = text] = time.exec(text) ?? []
  const [, who = '', line = rest] = hasUser ? (user.exec(rest) ?? []) : []
  // What follows a bare percent is the standard input, and has to stay at the end.
  const [, command = line, input = ''] = /^((?:[^%\\]|\\.)*)(%.*)?$/s.exec(line) ?? []
  // The shell would take the second ping for a part of a comment at the end.
  const bare = command.replace(/\s#[^'"]*$/, '').trim()
  return `${when}${who}P=${url}; ${call} $P/start; ${bare}; ${call} $P/$?${input}`
}
