/** A header as it is typed. */
export interface HeaderForm {
  name: string
  value: string
}

export const headerForms = (headers: Readonly<Record<string, string>> | undefined): HeaderForm[] =>
  Object.entries(headers ?? {}).map(([name, value]) => ({ name, value }))

/** The headers that have a name. */
export const headersOf = (headers: readonly HeaderForm[]): Record<string, string> =>
  Object.fromEntries(headers.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]))
