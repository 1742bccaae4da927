import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'units', include: ['faults/**/*.test.ts', 'bench/**/*.test.ts'], testTimeout: 20_000 } },
      {
        test: {
          name: 'flows',
          include: ['flows/**/*.test.ts'],
          globalSetup: './flows/product.ts',
          // One product for all of them; what one kills, another must not be waiting for.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
