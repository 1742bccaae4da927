/** The steps of a path to one value: names of members, indexes of elements. */
export type ValuePath = readonly (string | number)[]

// RFC 9535, 2.3.5.1: a singular query is made of names and indexes alone.
const segment =
  /\.([\p{L}_][\p{L}\p{N}_]*)|\[\s*(?:(-?(?:0|[1-9]\d{0,8}))|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*\]/uy

/** Reads a singular query of JSONPath (`$.items[0]['a name']`), or null when it is none. */
export function compilePath(text: string): ValuePath | null {
  if (!text.startsWith('$')) return null
  const steps: (string | number)[] = []
  segment.lastIndex = 1
  while (segment.lastIndex < text.length) {
    const match = segment.exec(text)
    if (match === null) return null
    const [, member, index, single, double] = match
    if (index !== undefined) steps.push(Number(index))
    else {
      const name = member ?? (single === undefined ? readEscapes(double ?? '', '"') : readEscapes(single, "'"))
      if (name === null) return null
      steps.push(name)
    }
  }
  return steps
}

/** The escapes of JSON, and that of the quote that encloses the name. */
function readEscapes(text: string, quote: string): string | null {
  const inDoubleQuotes = quote === '"' ? text : text.replaceAll(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'"))
  try {
    return JSON.parse(`"${inDoubleQuotes}"`) as string
  } catch {
    return null
  }
}

/** The value at a path; undefined when there is none. An index below 0 counts from the end. */
export function valueAt(root: unknown, path: ValuePath): unknown {
  let value = root
  for (const step of path) {
    if (typeof step === 'number') value = Array.isArray(value) ? value.at(step) : undefined
    else value = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }
  return value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
