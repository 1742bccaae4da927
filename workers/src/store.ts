import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { toWireId } from '@meridian/core/kernel/ids'
import type { Config } from './config.ts'
import type { StoreBody } from './perform/response.ts'

/**
 * Where long responses go. The object's name is random enough not to be guessed and says which run it belongs to; the
 * body is stored as it came, so the bucket must be as private as the database.
 */
export function createBodyStore(config: Config): StoreBody | null {
  if (config.OBJECT_STORE_URL === undefined) return null
  const client = new S3Client({
    endpoint: config.OBJECT_STORE_URL,
    region: config.OBJECT_STORE_REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: config.OBJECT_STORE_ACCESS_KEY, secretAccessKey: config.OBJECT_STORE_SECRET_KEY },
  })
  return async (body, { runId, attempt }) => {
    const key = `responses/${toWireId('run', runId)}/${attempt}`
    await client.send(new PutObjectCommand({ Bucket: config.OBJECT_STORE_BUCKET, Key: key, Body: body, ContentType: 'application/octet-stream' }))
    return key
  }
}
