import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    globalSetup: ['@meridian/core/testing/global-setup', 'test/redis-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
