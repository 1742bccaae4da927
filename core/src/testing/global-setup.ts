import { startTestPostgres } from './test-db.ts'

/** vitest's global setup: one Postgres a run, its URL provided to every test file as `postgresUrl`. */
export default async function setup(project: {
  provide(key: 'postgresUrl', value: string): void
}): Promise<() => Promise<void>> {
  const server = await startTestPostgres()
  project.provide('postgresUrl', server.url)
  return server.stop
}

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
  }
}
