import type { ServerResponse } from 'node:http'

const style = `
:root { color-scheme: light dark; --ground: oklch(0.985 0.003 80); --surface: oklch(1 0 0); --line: oklch(0.88 0.006 80);
  --text: oklch(0.25 0.01 80); --quiet: oklch(0.5 0.01 80); --accent: oklch(0.48 0.09 195); --on-accent: oklch(1 0 0);
  --failed: oklch(0.5 0.17 27) }
@media (prefers-color-scheme: dark) { :root { --ground: oklch(0.2 0.005 80); --surface: oklch(0.24 0.006 80);
  --line: oklch(0.36 0.008 80); --text: oklch(0.93 0.005 80); --quiet: oklch(0.72 0.008 80);
  --accent: oklch(0.74 0.09 195); --on-accent: oklch(0.2 0.02 195); --failed: oklch(0.74 0.14 27) } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 14px/1.5 Inter, system-ui, -apple-system, "Segoe UI", sans-serif }
main { max-width: 960px; margin: 0 auto; padding: 32px 20px }
main.narrow { max-width: 376px; min-height: 100vh; display: flex; flex-direction: column; justify-content: center }
h1 { font-size: 20px; font-weight: 550; margin: 0 0 4px }
p { margin: 0 0 16px; color: var(--quiet) }
svg.mark { display: block; margin: 0 0 24px -9px } .tick { stroke: var(--accent) }
label { display: block; margin: 16px 0 6px; font-weight: 550 }
input { width: 100%; height: 40px; padding: 0 12px; font: inherit; color: inherit; background: var(--surface);
  border: 1px solid var(--line); border-radius: 6px }
button { width: 100%; height: 40px; margin-top: 24px; font: inherit; font-weight: 550; border: 0; border-radius: 6px;
  background: var(--accent); color: var(--on-accent); cursor: pointer }
button.quiet { margin-top: 8px; background: none; color: var(--quiet); border: 1px solid var(--line) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
[role=alert] { color: var(--failed); margin: 16px 0 0 }
.note { margin: 24px 0 0; padding-top: 16px; border-top: 1px solid var(--line); font-size: 13px }
table { width: 100%; border-collapse: collapse; margin-top: 16px }
th { text-align: left; font-size: 12px; font-weight: 550; color: var(--quiet) }
th, td { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }
a { color: var(--accent) }
pre { margin: 16px 0; padding: 16px; background: var(--surface); border: 1px solid var(--line); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 "JetBrains Mono", ui-monospace, monospace }
iframe { width: 100%; height: 480px; border: 1px solid var(--line); border-radius: 6px; background: white }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px } dt { color: var(--quiet) } dd { margin: 0 }
`

// The sign of the console.
const arc = '<path d="M8 2.25A13.2 13.2 0 0 1 8 21.75" stroke-width="1.6"/>'
const tick = '<path class="tick" d="M7.4 12H17.2" stroke-width="1.9"/>'
const mark = `<svg class="mark" width="32" height="32" viewBox="0 0 24 24" fill="none" stroke="currentColor"
stroke-linecap="round" aria-hidden="true">${arc}${tick}</svg>`

/** A whole page in the look of the local services; `body` is HTML that is already safe. */
export const page = (title: string, body: string, isNarrow = false): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body><main${isNarrow ? ' class="narrow"' : ''}>${mark}${body}</main></body></html>`

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Text made safe for HTML, in elements and in quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '')

// No script, no request to anywhere; a mail's own HTML is shown in a frame that is locked down further.
const pagePolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; frame-ancestors 'none'"

export function sendPage(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': pagePolicy,
    'cache-control': 'no-store',
  })
  response.end(html)
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(`${JSON.stringify(value)}\n`)
}
