import { mkdirSync } from 'node:fs'
import { Server } from 'node:net'
import { type FauxqsServer, startFauxqs } from 'fauxqs'

export interface ObjectsSettings {
  port: number
  /** Keeps every object as a file. */
  folder: string
  bucket: string
}

/** An S3 object store for the local stack, with one bucket. It checks no signatures: it is for this machine only. */
export async function startObjects(settings: ObjectsSettings): Promise<FauxqsServer> {
  mkdirSync(settings.folder, { recursive: true })
  const server = await onLoopback(() =>
    startFauxqs({ port: settings.port, host: '127.0.0.1', logger: false, s3StorageDir: settings.folder }),
  )
  server.createBucket(settings.bucket)
  return server
}

// fauxqs always listens on every interface, and nothing of ours may listen beyond the loopback address.
async function onLoopback<T>(start: () => Promise<T>): Promise<T> {
  const listen = Server.prototype.listen
  Server.prototype.listen = function (this: Server, options: unknown, ...rest: unknown[]): Server {
    return Reflect.apply(listen, this, [{ ...(options as object), host: '127.0.0.1' }, ...rest]) as Server
  } as typeof listen
  try {
    return await start()
  } finally {
    Server.prototype.listen = listen
  }
}

if (import.meta.main) {
  const server = await startObjects(JSON.parse(process.env.SETTINGS ?? '{}') as ObjectsSettings)
  const stop = (): void => void server.stop().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}
