import { z } from 'zod'

export type Json = Record<string, unknown>

type Direction = 'input' | 'output'

const refPrefix = '#/$defs/'
const componentPrefix = '#/components/schemas/'

/**
 * Collects the named schemas of a document. A schema that reads differently from how it is written (defaults make
 * fields optional on the way in, certain on the way out) becomes two: `Target` and `TargetInput`.
 * Ask for all outputs before any input.
 */
export class SchemaCollector {
  readonly #outputs = new Map<string, Json>()
  readonly #inputs = new Map<string, Json>()

  /** The JSON schema of a Zod schema; its named parts become references. */
  add(schema: z.ZodType, direction: Direction): Json {
    const {
      $schema: _,
      $defs,
      ...root
    } = z.toJSONSchema(schema, {
      io: direction,
      target: 'draft-2020-12',
      unrepresentable: 'any',
    }) as Json
    const definitions = new Map(
      Object.entries(($defs ?? {}) as Record<string, Json>).map(([id, json]) => [id, withoutId(json)]),
    )
    const renamed = direction === 'input' ? this.#split(definitions) : new Set<string>()
    const rename = (id: string): string => (renamed.has(id) ? `${id}Input` : id)
    const known = direction === 'input' ? this.#inputs : this.#outputs
    for (const [id, json] of definitions) {
      const name = rename(id)
      if (direction === 'input' && !renamed.has(id) && this.#outputs.has(id)) this.#shared.add(id)
      else known.set(name, rewrite(json, rename))
    }
    return direction === 'output' ? open(rewrite(root, rename)) : rewrite(root, rename)
  }
  readonly #shared = new Set<string>()

  /** Which of these have to be told from the outputs of the same name. */
  #split(definitions: Map<string, Json>): Set<string> {
    const differs = new Set<string>()
    for (const [id, json] of definitions) {
      const output = this.#outputs.get(id)
      if (
        output !== undefined &&
        !same(
          output,
          rewrite(json, (name) => name),
        )
      )
        differs.add(id)
    }
    // What refers to a split schema has to be split itself.
    for (let grown = true; grown; ) {
      grown = false
      for (const [id, json] of definitions) {
        if (differs.has(id) || !this.#outputs.has(id)) continue
        if ([...differs].some((other) => JSON.stringify(json).includes(`"${refPrefix}${other}"`))) {
          differs.add(id)
          grown = true
        }
      }
    }
    return differs
  }

  /** All named schemas, by name. Answers may grow fields, so what is only answered is left open. */
  components(): Record<string, Json> {
    const outputs = [...this.#outputs].map(([id, json]): [string, Json] => [
      id,
      this.#shared.has(id) ? json : open(json),
    ])
    return Object.fromEntries([...outputs, ...this.#inputs].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

const withoutId = ({ id: _, ...json }: Json): Json => json

const same = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b)

function walk(value: unknown, visit: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => walk(item, visit))
  if (typeof value !== 'object' || value === null) return value
  return visit(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, visit)])))
}

const rewrite = (json: Json, rename: (id: string) => string): Json =>
  walk(json, (object) => {
    const { $ref } = object
    if (typeof $ref !== 'string' || !$ref.startsWith(refPrefix)) return object
    return { ...object, $ref: componentPrefix + rename($ref.slice(refPrefix.length)) }
  }) as Json

const open = (json: Json): Json =>
  walk(json, (object) => {
    if (object.additionalProperties !== false) return object
    const { additionalProperties: _, ...rest } = object
    return rest
  }) as Json
