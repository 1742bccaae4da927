import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: { include: ['flows/**/*.test.ts', 'faults/**/*.test.ts', 'bench/**/*.test.ts'] },
})
