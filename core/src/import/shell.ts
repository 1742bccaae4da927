import { createHash } from 'node:crypto'

/** A short print of a text, for names that have to stay the same. */
export const print = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 10)

/**
 * The words of a simple command: quotes and backslashes as a POSIX shell reads them. Null when it is more than one
 * command, or asks the shell for anything: a variable, a substitution, a pattern, a redirection to a place that matters.
 */
export function plainWords(text: string): string[] | null {
  const words: string[] = []
  let word: string | null = null
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? ''
    if (character === ' ' || character === '\t') {
      if (word !== null) words.push(word)
      word = null
    } else if (character === "'") {
      const end = text.indexOf("'", index + 1)
      if (end < 0) return null
      word = (word ?? '') + text.slice(index + 1, end)
      index = end
    } else if (character === '"') {
      const end = closingQuote(text, index + 1)
      const inner = text.slice(index + 1, end)
      if (end < 0 || /[$`]/.test(inner.replaceAll(/\\./g, ''))) return null
      word = (word ?? '') + inner.replaceAll(/\\([$`"\\])/g, '$1')
      index = end
    } else if (character === '\\') {
      word = (word ?? '') + (text[++index] ?? '')
    } else if (
      '|&;<>()$`*?[]{}~#!\n'.includes(character) &&
      !(character === '?' || character === '#' || character === '~')
    ) {
      return null
    } else if ((character === '?' && word === null) || (character === '~' && word === null)) {
      return null
    } else if (character === '#' && word === null) {
      return words
    } else {
      word = (word ?? '') + character
    }
  }
  if (word !== null) words.push(word)
  return words
}

function closingQuote(text: string, from: number): number {
  for (let index = from; index < text.length; index++) {
    if (text[index] === '\\') index++
    else if (text[index] === '"') return index
  }
  return -1
}

const silencing = /\s*(?:(?:[12]|&)?>{1,2}\s*\/dev\/null|2>&1|1>&2|&>\s*\/dev\/null|<\s*\/dev\/null)\s*/g
const redirection = /\s*(?:[12&]?>{1,2}|<)\s*(?:&[12]|"[^"]*"|'[^']*'|[^\s;&|]+)/g

/** The command without redirections that only silence it. */
export const withoutSilencing = (text: string): string => text.replaceAll(silencing, ' ').trim()

const wrappers =
  /^(?:sudo(?:\s+-[nEH]+)*(?:\s+-u\s+\S+)?|nice(?:\s+-n\s*-?\d+|\s+-\d+)?|ionice(?:\s+-[cn]\s*\d+)*|nohup|timeout(?:\s+-\S+)*\s+\S+|flock(?:\s+-\S+)*(?:\s+\d+(?=\s*[^\s/]*\/))?\s+\S+(?:\s+-c)?|chronic|exec|time|(?:\/usr\/bin\/)?env(?:\s+\w+=\S+)*|\w+=\S*)\s+/
const preparing = /^(?:cd|test|\[|sleep|export|source|\.|set|umask|mkdir|touch)\b/
const nameMax = 80

/** What a person would call a command: without what wraps it, what prepares it and where its output goes. */
export function commandName(text: string): string {
  const parts = text.replaceAll(redirection, '').split(/&&|\|\||;|\|/)
  const cleaned = parts.map((part) => unwrapped(part.trim())).filter((part) => part !== '')
  const main = cleaned.find((part) => !preparing.test(part)) ?? cleaned[0] ?? text.trim()
  const short = main.replace(/^["']?(?:[^\s"']*\/)?([^\s/"']+)["']?/, '$1').replaceAll(/\s+/g, ' ')
  const name =
    withoutSecrets(short)
      .replaceAll(/\p{Cc}/gu, '')
      .trim() || 'command'
  return name.length > nameMax ? `${name.slice(0, nameMax - 1)}…` : name
}

// Names are read by everybody who may see jobs; what follows these words is not for them.
const secrets =
  /((?:pass(?:word|wd)?|pwd|token|secret|api[-_]?key|key|auth(?:orization)?)(?:[=:]|\s+(?=\S)))\S+|(\s-p)\S+|(\?)\S+|(:\/\/)[^\s/@]+@/gi

const withoutSecrets = (text: string): string =>
  text.replaceAll(
    secrets,
    (_, word: string | undefined, flag: string | undefined, query: string | undefined, scheme: string | undefined) =>
      word !== undefined ? `${word}…` : flag !== undefined ? `${flag}…` : query !== undefined ? '?…' : (scheme ?? ''),
  )

function unwrapped(text: string): string {
  let rest = text
  for (let inner = rest.replace(wrappers, ''); inner !== rest && inner !== ''; inner = rest.replace(wrappers, ''))
    rest = inner
  return rest.replace(/^[({]\s*/, '')
}
