import { readFileSync, writeFileSync } from 'node:fs'
import node from '@sveltejs/adapter-node'
import type { Adapter } from '@sveltejs/kit'
import { sveltekit } from '@sveltejs/kit/vite'
import tailwindcss from '@tailwindcss/vite'
import { defineConfig } from 'vitest/config'

/**
 * adapter-node, but the public origin is read from CONSOLE_URL when the server starts. The adapter itself can
 * only bake it in at build time, and one build must serve every address it is deployed under.
 */
function nodeWithRuntimeOrigin(): Adapter {
  const out = 'build'
  const adapter = node({ out })
  return {
    ...adapter,
    async adapt(builder) {
      await adapter.adapt(builder)
      const handoff = `${out}/adapter-node.js`
      const before = readFileSync(handoff, 'utf8')
      const after = before.replace(
        'export const origin = undefined;',
        'export const origin = process.env.CONSOLE_URL ? new URL(process.env.CONSOLE_URL).origin : undefined;',
      )
      if (after === before) throw new Error(`${handoff} no longer exports an undefined origin`)
      writeFileSync(handoff, after)
    },
  }
}

export default defineConfig({
  plugins: [
    tailwindcss(),
    sveltekit({
      adapter: nodeWithRuntimeOrigin(),
      csp: {
        mode: 'nonce',
        directives: {
          'default-src': ['none'],
          'script-src': ['self'],
          // bits-ui positions its floating parts with style attributes.
          'style-src': ['self', 'unsafe-inline'],
          'img-src': ['self', 'data:'],
          'font-src': ['self'],
          'connect-src': ['self'],
          'manifest-src': ['self'],
          'form-action': ['self'],
          'base-uri': ['none'],
          'frame-ancestors': ['none'],
          'object-src': ['none'],
        },
      },
    }),
  ],
  // Inlined fonts would need `data:` in the content security policy.
  build: { assetsInlineLimit: 0 },
  test: { include: ['src/**/*.test.ts'] },
})
