/** The same page with other parameters; undefined and empty ones are left out. A cursor belongs to what it was made for, so it goes. */
export function withParams(
  url: { pathname: string; search: string },
  changes: Record<string, string | undefined>,
): string {
  const params = new URLSearchParams(url.search)
  params.delete('cursor')
  for (const [name, value] of Object.entries(changes)) {
    if (value) params.set(name, value)
    else params.delete(name)
  }
  // Commas and colons need no escape in a query, and people read these.
  const query = params.toString().replaceAll('%2C', ',').replaceAll('%3A', ':')
  return query ? `${url.pathname}?${query}` : url.pathname
}

/** A comma list with one value more, or without it when it was there; undefined when none is left. */
export function toggled(list: readonly string[], value: string): string | undefined {
  const next = list.includes(value) ? list.filter((other) => other !== value) : [...list, value]
  return next.length === 0 ? undefined : next.join(',')
}

/** The values of a comma list in the URL. */
export const listParam = (text: string | null): string[] => (text ?? '').split(',').filter(Boolean)
