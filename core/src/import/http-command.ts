import { toDuration } from '../kernel/duration.ts'
import type { HttpMethod } from '../run/target.ts'
import { httpMethods } from '../run/target.ts'
import { changed, type Difference } from './entry.ts'
import { plainWords, withoutSilencing } from './shell.ts'

export interface HttpCommand {
  target: {
    type: 'http'
    url: string
    method: HttpMethod
    headers: Record<string, string>
    body?: string
    timeout?: string
  }
  retryLimit: number | null
  differences: Difference[]
}

// What changes nothing for a call of ours.
const curlSilent = new Set('fsSLNgv46#'.split(''))
const curlSilentLong = new Set([
  '--fail',
  '--silent',
  '--show-error',
  '--location',
  '--no-buffer',
  '--globoff',
  '--verbose',
  '--no-progress-meter',
  '--progress-bar',
  '--compressed',
  '--fail-with-body',
  '--ipv4',
  '--ipv6',
  '--retry-connrefused',
  '--retry-all-errors',
  '--http1.1',
  '--http2',
]) // prettier-ignore
const curlIgnoredWithValue = new Set([
  '-o',
  '--output',
  '--connect-timeout',
  '--retry-delay',
  '--retry-max-time',
  '-w',
  '--write-out',
  '-A',
  '--user-agent',
  '--max-redirs',
]) // prettier-ignore
const wgetSilent = new Set(['-q', '--quiet', '-nv', '--no-verbose', '--spider', '--no-cache', '-4', '-6', '-b'])
const wgetIgnoredWithValue = new Set([
  '-O',
  '--output-document',
  '-o',
  '--output-file',
  '-U',
  '--user-agent',
  '-w',
  '--wait',
  '-P',
])

/** The HTTP call that a `curl` or `wget` command is; null when it is none, or more than that. */
export function readHttpCommand(text: string): HttpCommand | null {
  const words = plainWords(withoutSilencing(text))
  const program = words?.[0]?.split('/').at(-1)
  if (words === null || (program !== 'curl' && program !== 'wget')) return null
  const reading = program === 'curl' ? readCurl(words.slice(1)) : readWget(words.slice(1))
  if (reading === null) return null
  const url = /^[a-z]+:\/\//i.test(reading.url) ? reading.url : `http://${reading.url}`
  if (!URL.canParse(url) || !/^https?:/i.test(url)) return null
  return finish({ ...reading, url })
}

interface Reading {
  url: string
  method: string
  headers: [string, string][]
  data: string[]
  timeoutSeconds: number | null
  retryLimit: number | null
  isInsecure: boolean
}

const blank = (): Reading => ({
  url: '',
  method: '',
  headers: [],
  data: [],
  timeoutSeconds: null,
  retryLimit: null,
  isInsecure: false,
})

function finish({ url, method, headers, data, timeoutSeconds, retryLimit, isInsecure }: Reading): HttpCommand | null {
  const chosen = method || (data.length > 0 ? 'POST' : 'GET')
  const known = httpMethods.find((each) => each === chosen.toUpperCase())
  if (known === undefined) return null
  const sent = Object.fromEntries(headers)
  const hasType = headers.some(([name]) => name.toLowerCase() === 'content-type')
  if (data.length > 0 && !hasType) sent['Content-Type'] = 'application/x-www-form-urlencoded'
  const timeoutMs =
    timeoutSeconds === null ? null : Math.min(900_000, Math.max(100, Math.round(timeoutSeconds * 1_000)))
  return {
    target: {
      type: 'http',
      url,
      method: known,
      headers: sent,
      ...(data.length > 0 ? { body: data.join('&') } : {}),
      ...(timeoutMs === null ? {} : { timeout: toDuration(timeoutMs) }),
    },
    retryLimit,
    differences: isInsecure
      ? [changed('authorization', 'The command accepts any certificate (`-k`); here a bad certificate fails the run.')]
      : [],
  }
}

function readCurl(words: string[]): Reading | null {
  const reading = blank()
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (!word.startsWith('-')) {
      if (reading.url !== '') return null
      reading.url = word
      continue
    }
    const [option, value] = splitOption(word, rest)
    if (option === null) return null
    if (curlSilentLong.has(option)) continue
    if (/^-[a-zA-Z0-9#]+$/.test(option) && [...option.slice(1)].every((letter) => curlSilent.has(letter))) continue
    if (option === '-k' || option === '--insecure') reading.isInsecure = true
    else if (option === '-I' || option === '--head') reading.method = 'HEAD'
    else if (!takeValue(reading, option, value ?? rest.shift())) return null
  }
  return reading.url === '' ? null : reading
}

/** `--name=value`, `-Xvalue` and bundles such as `-fsSm10` apart: the last option, after all that changes nothing. */
function splitOption(word: string, rest: string[]): [string | null, string | undefined] {
  const long = /^(--[^=]+)=(.*)$/s.exec(word)
  if (long?.[1] !== undefined) return [long[1], long[2]]
  if (word.startsWith('--') || word === '-') return [word === '-' ? null : word, undefined]
  let index = 1
  while (index < word.length - 1 && curlSilent.has(word[index] ?? '')) index++
  const letter = word[index] ?? ''
  const value = word.slice(index + 1)
  if ('kI'.includes(letter) && value !== '') rest.unshift(`-${value}`)
  return [`-${letter}`, value === '' || 'kI'.includes(letter) ? undefined : value]
}

function takeValue(reading: Reading, option: string, value: string | undefined): boolean {
  if (value === undefined) return false
  switch (option) {
    case '-X':
    case '--request':
      reading.method = value
      return true
    case '-H':
    case '--header': {
      const header = /^([^:]+):\s*(.*)$/.exec(value)
      if (header?.[1] === undefined) return false
      reading.headers.push([header[1], header[2] ?? ''])
      return true
    }
    case '-u':
    case '--user':
      reading.headers.push(['Authorization', `Basic ${Buffer.from(value).toString('base64')}`])
      return true
    case '-d':
    case '--data':
    case '--data-ascii':
    case '--data-raw':
    case '--data-binary':
    case '--json':
      // A file on the old machine.
      if (value.startsWith('@') && option !== '--data-raw') return false
      reading.data.push(value)
      if (option === '--json')
        reading.headers.push(['Content-Type', 'application/json'], ['Accept', 'application/json'])
      return true
    case '-m':
    case '--max-time':
      reading.timeoutSeconds = Number(value)
      return Number.isFinite(reading.timeoutSeconds) && reading.timeoutSeconds > 0
    case '--retry':
      reading.retryLimit = Math.min(100, Number(value))
      return Number.isInteger(reading.retryLimit) && reading.retryLimit >= 0
    default:
      return curlIgnoredWithValue.has(option)
  }
}

function readWget(words: string[]): Reading | null {
  const reading = blank()
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, name = word, given] = /^(--[^=]+)=(.*)$/s.exec(word) ?? []
    if (!word.startsWith('-')) {
      if (reading.url !== '') return null
      reading.url = word
    } else if (wgetSilent.has(name)) {
      if (name === '--spider') reading.method = 'HEAD'
    } else if (name === '--no-check-certificate') reading.isInsecure = true
    else if (/^-q?O-?$/.test(name)) {
      if (!name.endsWith('-')) rest.shift()
    } else {
      const value = given ?? rest.shift()
      if (value === undefined) return null
      if (name === '--header') {
        if (!takeValue(reading, '-H', value)) return null
      } else if (name === '--post-data' || name === '--body-data') reading.data.push(value)
      else if (name === '--method') reading.method = value
      else if (name === '-T' || name === '--timeout') reading.timeoutSeconds = Number(value) || null
      else if (name === '-t' || name === '--tries')
        reading.retryLimit = Math.max(0, Math.min(100, (Number(value) || 1) - 1))
      else if (!wgetIgnoredWithValue.has(name)) return null
    }
  }
  return reading.url === '' ? null : reading
}
