import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { HttpBindings } from '@hono/node-server'
import { Scalar } from '@scalar/hono-api-reference'
import type { Hono } from 'hono'
import type { Services } from '../http/env.ts'
import type { Operation } from '../http/operation.ts'
import { problemCodes } from '../http/problems.ts'
import { openApiDocument } from '../openapi-document.ts'

const problemsFolder = new URL('../../../docs/problems/', import.meta.url)

// The page runs our copy of the reference and talks to this API; nothing is fetched from anywhere else.
const referencePolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** The document, the reference made of it, the problem pages and the metrics: what is no operation itself. */
export function mountDocs(
  app: Hono<{ Bindings: HttpBindings }>,
  operations: readonly Operation[],
  services: Services,
): void {
  let document: string | undefined
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(openApiDocument(operations, services.config.publicUrl))
    return c.body(document, 200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' })
  })

  app.get('/docs', async (c, next) => {
    const nonce = randomBytes(16).toString('base64')
    const page = await Scalar<{ Bindings: HttpBindings }>({
      url: '/openapi.json',
      cdn: '/docs/reference.js',
      nonce,
      pageTitle: 'Meridian API',
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      showDeveloperTools: 'never',
      hideClientButton: true,
    })(c, next)
    page?.headers.set('content-security-policy', referencePolicy(nonce))
    return page
  })
  app.get('/favicon.ico', (c) => c.body(null, 204))
  let script: Promise<Buffer<ArrayBuffer>> | undefined
  app.get('/docs/reference.js', async (c) => {
    script ??= readFile(new URL('browser/standalone.js', import.meta.resolve('@scalar/api-reference')))
    return c.body(await script, 200, {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=3600',
    })
  })

  app.get('/problems', (c) => c.text(`${problemCodes.map((code) => `/problems/${code}`).join('\n')}\n`))
  for (const code of problemCodes) {
    app.get(`/problems/${code}`, async (c) =>
      c.body(await readFile(new URL(`${code}.md`, problemsFolder), 'utf8'), 200, {
        'content-type': 'text/markdown; charset=utf-8',
        'x-content-type-options': 'nosniff',
      }),
    )
  }

  app.get('/metrics', async (c) => {
    const { contentType, body } = await services.metrics.renderMetrics()
    return c.body(body, 200, { 'content-type': contentType })
  })
}
