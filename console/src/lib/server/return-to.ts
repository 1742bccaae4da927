/**
 * The place to go after sign-in: a path on our own origin, or `/` for anything else. Browsers read `\` as `/` and
 * drop TAB, CR and LF inside a URL, so all of those are refused before parsing, and `//` is refused after it too.
 */
export function safeReturnTo(value: string | null | undefined, origin: string): string {
  if (!value?.startsWith('/')) return '/'
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not pass
  if (/[\u0000-\u0020\\\u007f]/.test(value)) return '/'
  if (!URL.canParse(value, origin)) return '/'
  const url = new URL(value, origin)
  if (url.origin !== origin || url.pathname.startsWith('//')) return '/'
  return url.pathname + url.search + url.hash
}
