import { isMap, isNode, isSeq, LineCounter, type Node, parseAllDocuments } from 'yaml'
import type { Source } from './entry.ts'

/** A part of a YAML or JSON document that knows where it stands. Looking for what is not there gives an empty part. */
export class Part {
  readonly #node: Node | undefined
  readonly #lines: LineCounter
  readonly #source: string
  readonly value: unknown
  constructor(node: Node | undefined, value: unknown, { lines, source }: { lines: LineCounter; source: string }) {
    this.#node = node
    this.#lines = lines
    this.#source = source
    this.value = value
  }

  /** The part under a name; its own line when the name is not there. */
  get(...path: string[]): Part {
    return path.reduce<Part>((part, name) => part.#child(name), this)
  }

  #child(name: string | number): Part {
    const value = Object(this.value) as Record<string | number, unknown>
    const inner = Object.hasOwn(value, name) ? value[name] : undefined
    const node = isMap(this.#node) || isSeq(this.#node) ? this.#node.get(name, true) : undefined
    return new Part(isNode(node) ? node : this.#node, inner, { lines: this.#lines, source: this.#source })
  }

  items(): Part[] {
    return Array.isArray(this.value) ? this.value.map((_, index) => this.#child(index)) : []
  }

  entries(): [string, Part][] {
    return this.isMap ? Object.keys(Object(this.value) as object).map((name) => [name, this.#child(name)]) : []
  }

  get isMap(): boolean {
    return typeof this.value === 'object' && this.value !== null && !Array.isArray(this.value)
  }

  has(name: string): boolean {
    return this.isMap && Object.hasOwn(this.value as object, name)
  }

  /** A text or a number as text; undefined for anything else, and for nothing. */
  get text(): string | undefined {
    const { value } = this
    if (typeof value === 'string') return value
    return typeof value === 'number' || typeof value === 'bigint' ? String(value) : undefined
  }

  get number(): number | undefined {
    const number = Number(this.text?.trim() || Number.NaN)
    return Number.isFinite(number) ? number : undefined
  }

  get line(): number {
    const start = this.#node?.range?.[0]
    return start === undefined ? 1 : this.#lines.linePos(start).line
  }

  /** Its first line, as it is written. */
  get written(): string {
    return this.#source.split('\n', this.line)[this.line - 1]?.trim() ?? ''
  }
}

/** Reads YAML or JSON, one document or several. JSON is read as the YAML that it is, so that lines are known. */
export function readDocuments(source: string): { parts: Part[]; problems: Source['problems'] } {
  const lines = new LineCounter()
  const problems: Source['problems'] = []
  const parts: Part[] = []
  const documents = parseAllDocuments(source, { lineCounter: lines, uniqueKeys: true, logLevel: 'silent' })
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors
    if (error !== undefined) {
      const detail = `This can't be read as YAML or JSON: ${error.message.split('\n')[0]?.replace(/ at line .*$/, '')}`
      problems.push({ line: error.linePos?.[0].line ?? 1, detail })
      continue
    }
    const root = document.contents
    if (root === null) continue
    try {
      parts.push(new Part(isNode(root) ? root : undefined, document.toJS({ maxAliasCount: 100 }), { lines, source }))
    } catch {
      problems.push({ line: 1, detail: 'It is too deep to be read, or has too many aliases.' })
    }
  }
  return { parts, problems }
}
