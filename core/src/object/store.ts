import { GetObjectCommand, NoSuchKey, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { dependencyUnavailable } from '../kernel/errors.ts'
import { toWireId, type Uuid } from '../kernel/ids.ts'
import type { KeyRing } from '../secret/key-ring.ts'

export interface ObjectStoreOptions {
  url: string
  region: string
  bucket: string
  accessKey: string
  secretKey: string
}

/** Where bodies go that are too long for a row. The store sees envelopes only. */
export interface BodyStore {
  /** Seals and stores a response's body; returns the name to find it by. */
  put(tenantId: Uuid, runId: Uuid, attempt: number, body: Buffer): Promise<string>
  /** The body again, or null when it is past its retention. Throws `dependency-unavailable` when the store is away. */
  get(tenantId: Uuid, runId: Uuid, objectKey: string): Promise<Buffer | null>
  close(): void
}

const requestTimeoutMs = 5_000

/** A store over any S3-compatible service. */
export function createBodyStore(options: ObjectStoreOptions, keyRing: KeyRing): BodyStore {
  const client = new S3Client({
    endpoint: options.url,
    region: options.region,
    forcePathStyle: true,
    maxAttempts: 2,
    requestHandler: { requestTimeout: requestTimeoutMs, connectionTimeout: requestTimeoutMs },
    credentials: { accessKeyId: options.accessKey, secretAccessKey: options.secretKey },
  })
  return {
    async put(tenantId, runId, attempt, body) {
      const key = `${toWireId('ten', tenantId)}/responses/${toWireId('run', runId)}/${attempt}`
      const sealed = await keyRing.seal(tenantId, runId, body)
      await client.send(
        new PutObjectCommand({
          Bucket: options.bucket,
          Key: key,
          Body: sealed,
          ContentType: 'application/octet-stream',
        }),
      )
      return key
    },
    async get(tenantId, runId, objectKey) {
      try {
        const answer = await client.send(new GetObjectCommand({ Bucket: options.bucket, Key: objectKey }))
        const sealed = await answer.Body?.transformToByteArray()
        return sealed === undefined ? null : await keyRing.open(tenantId, runId, Buffer.from(sealed))
      } catch (error) {
        if (error instanceof NoSuchKey) return null
        throw dependencyUnavailable('The object store', error)
      }
    },
    close: () => client.destroy(),
  }
}
