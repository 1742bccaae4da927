/** A request as somebody could send it by hand. */
export interface CurlRequest {
  method: string
  url: string
  headers: Record<string, string>
  body: string | undefined
}

/** The request as a `curl` command for a POSIX shell, one option a line. */
export function toCurl({ method, url, headers, body }: CurlRequest): string {
  const options = [
    ...(method === 'GET' && body === undefined ? [] : method === 'HEAD' ? ['--head'] : [`--request ${method}`]),
    ...Object.entries(headers).map(([name, value]) => `--header ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ]
  return [`curl ${quoted(url)}`, ...options].join(' \\\n  ')
}

// Inside single quotes a POSIX shell reads everything as it is, but for the quote itself.
const quoted = (text: string): string => (/^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
