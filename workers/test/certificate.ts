import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'

/** A self-signed certificate for one DNS name, made on the spot: DER by hand (X.690), as the runtime can not make one. */
export function makeCertificate(name: string): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = sequence(oid('1.2.840.10045.4.3.2'))
  const issuer = sequence(tagged(0x31, sequence(oid('2.5.4.3'), tagged(0x0c, Buffer.from(name)))))
  const day = 86_400_000
  const validity = sequence(time(new Date(Date.now() - day)), time(new Date(Date.now() + day)))
  const alternativeName = tagged(0x04, sequence(tagged(0x82, Buffer.from(name))))
  const isAuthority = tagged(0x04, sequence(tagged(0x01, Buffer.from([0xff]))))
  const extensions = sequence(
    sequence(oid('2.5.29.17'), alternativeName),
    sequence(oid('2.5.29.19'), tagged(0x01, Buffer.from([0xff])), isAuthority),
  )
  const body = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    issuer,
    validity,
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  )
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)])
  const certificate = sequence(body, algorithm, tagged(0x03, signature))
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  }
}

function tagged(tag: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  const head =
    length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}

const sequence = (...contents: Buffer[]): Buffer => tagged(0x30, ...contents)

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const groups = [part & 0x7f]
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return tagged(0x06, Buffer.from(bytes))
}

const time = (date: Date): Buffer => tagged(0x18, Buffer.from(date.toISOString().replace(/[-:T]|\.\d+/g, '')))
