import { AppError } from '@meridian/core/kernel/errors'

/** Deeper than any honest document, and far from what would overflow a stack. */
const depthMax = 100

const malformed = (detail: string): AppError => new AppError('malformed-request', detail)

const tooDeep = (): AppError => malformed(`The body is nested deeper than ${depthMax} levels.`)

/**
 * Parses JSON more strictly than the language does: no key twice in one object, no `__proto__`, no more than
 * `depthMax` levels. Throws `malformed-request` that says where.
 */
export function parseJson(text: string): unknown {
  const members = scan(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw malformed(`The body is not JSON: ${explain(error, text)}`)
  }
  // An object keeps one of two equal keys, so it then holds fewer than were written.
  if (countKeys(value, 0) !== members) throw malformed('The body has a key twice in one object.')
  return value
}

const quote = 34
const backslash = 92

/** Counts the members of all objects, and refuses depth, without building anything. */
function scan(text: string): number {
  let depth = 0
  let members = 0
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index)
        break
      case 58: // :
        members++
        break
      case 91: // [
      case 123: // {
        if (++depth > depthMax) throw tooDeep()
        break
      case 93: // ]
      case 125: // }
        depth--
    }
  }
  return members
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = end
    while (text.charCodeAt(slashes - 1) === backslash) slashes--
    if ((end - slashes) % 2 === 0) return end
  }
  return text.length
}

/** The number of keys in a value, all levels. Throws for what no parser should hand on. */
export function countKeys(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth >= depthMax) throw tooDeep()
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') keys += countKeys(item, depth + 1)
    return keys
  }
  for (const key in value) {
    if (key === '__proto__') throw malformed('The body has a key named __proto__.')
    keys++
    const item = (value as Record<string, unknown>)[key]
    if (typeof item === 'object') keys += countKeys(item, depth + 1)
  }
  return keys
}

/** What the parser stumbled over. Its own message may quote the body, so only a character or the place is taken from it. */
function explain(error: unknown, text: string): string {
  if (text.trim() === '') return 'it is empty.'
  const message = error instanceof Error ? error.message : ''
  const token = /^Unexpected token '(.)'/u.exec(message)?.[1]
  if (token !== undefined) return `unexpected ${JSON.stringify(token)}.`
  const position = Number(/at position (\d+)/.exec(message)?.[1] ?? text.length)
  if (position >= text.length) return 'it ends too early.'
  const before = text.slice(0, position)
  const line = before.split('\n').length
  return `unexpected character at line ${line}, column ${before.length - before.lastIndexOf('\n')}.`
}

/** One text per meaning: keys in one order, no white space. For comparing requests, not for storing. */
export const canonicalJson = (value: unknown): string => JSON.stringify(inOrder(value)) ?? 'null'

// Copying is cheaper than writing the text by hand: the language writes it several times as fast, as long as no object
// has a say in how it is written, as a Date has.
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Date) return value.getTime()
  if (Array.isArray(value)) return value.map(inOrder)
  const record = value as Record<string, unknown>
  const ordered: Record<string, unknown> = {}
  for (const key of sort(Object.keys(record))) ordered[key] = inOrder(record[key])
  return ordered
}

const fewKeys = 16

/** Sorts in place. Few keys, as objects mostly have, are inserted one by one in half the time. */
function sort(keys: string[]): string[] {
  if (keys.length > fewKeys) return keys.sort()
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] ?? ''
    let place = index
    for (; place > 0 && (keys[place - 1] ?? '') > key; place--) keys[place] = keys[place - 1] ?? ''
    keys[place] = key
  }
  return keys
}
