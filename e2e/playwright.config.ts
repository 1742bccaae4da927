import { defineConfig } from '@playwright/test'

// A browser as root needs --no-sandbox; the rest keeps it from asking the internet for anything.
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--no-first-run',
]

export default defineConfig({
  testDir: './console',
  globalSetup: './console/product.ts',
  // One product and two cores for all of them.
  workers: 1,
  // A browser beside a whole product on two cores is slow now and then. What passes at the second try is named all the
  // same, and is to be looked into: it may be a race that people meet as well.
  retries: 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: [['list']],
  outputDir: './test-results',
  use: {
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    trace: 'retain-on-failure',
    launchOptions: { executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: quiet },
  },
})
