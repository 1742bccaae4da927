export type TokenKind = 'key' | 'text' | 'number' | 'word' | 'mark' | 'space'

export interface Token {
  kind: TokenKind
  text: string
}

const pattern =
  /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b|([{}[\],])|(\s+)|([^\s"{}[\],]+|")/g

/** The lines of a JSON text as coloured tokens. It never fails: what is not JSON comes through as plain marks. */
export function jsonLines(text: string): Token[][] {
  const lines: Token[][] = [[]]
  for (const [whole, quoted, colon, number, word, , space] of text.matchAll(pattern)) {
    const line = lines[lines.length - 1] ?? []
    if (space !== undefined) {
      const pieces = space.split('\n')
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) lines.push([])
        if (piece) lines.at(-1)?.push({ kind: 'space', text: piece })
      }
    } else if (quoted !== undefined && colon !== undefined)
      line.push({ kind: 'key', text: quoted }, { kind: 'mark', text: colon })
    else if (quoted !== undefined) line.push({ kind: 'text', text: quoted })
    else if (number !== undefined) line.push({ kind: 'number', text: whole })
    else line.push({ kind: word === undefined ? 'mark' : 'word', text: whole })
  }
  return lines
}

/** The text indented, if it is JSON; as it is otherwise. */
export function prettyJson(text: string): { text: string; isJson: boolean } {
  try {
    const value: unknown = JSON.parse(text)
    // Numbers beyond 2^53 would be printed changed, so such a text stays as it came.
    if (/\d{16,}/.test(text)) return { text, isJson: true }
    return { text: JSON.stringify(value, null, 2), isJson: true }
  } catch {
    return { text, isJson: false }
  }
}
