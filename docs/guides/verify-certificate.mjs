// Checks a certificate of a job's ledger without Meridian. Node 20 or newer, no packages.
//   node verify-certificate.mjs certificate.json jwks.json [occurrences.json]
// certificate.json: the answer of GET /v1/jobs/{id}/certificate. jwks.json: /.well-known/jwks.json, as a file or a URL.
// occurrences.json: all of GET /v1/jobs/{id}/occurrences for the same range, as an array: what was signed is what you see.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

const [certificateFile, keySet, occurrencesFile] = process.argv.slice(2)
if (!keySet) fail('usage: node verify-certificate.mjs certificate.json jwks.json [occurrences.json]')

function fail(reason) {
  console.error(`NOT VERIFIED: ${reason}`)
  process.exit(1)
}
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'))
const decode = (part) => JSON.parse(Buffer.from(part, 'base64url').toString())

const { certificate, jws } = readJson(certificateFile)
const { keys } = /^https?:/.test(keySet) ? await (await fetch(keySet)).json() : readJson(keySet)
const [header, payload, signature] = jws.split('.')
const { alg, kid, typ } = decode(header)
if (alg !== 'EdDSA' || typ !== 'meridian-certificate') fail('it is not a certificate')
const jwk = keys.find((key) => key.kid === kid)
if (!jwk) fail(`the key ${kid} is not published`)
const key = createPublicKey({ key: jwk, format: 'jwk' })
if (!verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')))
  fail('the signature is not that of the key')
if (!isDeepStrictEqual(decode(payload), certificate)) fail('what is shown is not what was signed')

if (occurrencesFile) {
  const lines = readJson(occurrencesFile).map(
    ({ nominalAt, count, outcome, reason }) => `${nominalAt} ${count} ${outcome} ${reason ?? '-'}\n`,
  )
  const digest = createHash('sha256').update(lines.join('')).digest('hex')
  if (digest !== certificate.ledger.digest) fail('the occurrences are not those that were signed')
}

const { from, to, expected, outcomes, undecided, mismatchCount, isComplete } = certificate
console.log(`signed by ${kid}`)
console.log(`${certificate.jobId}, ${from} to ${to}: ${expected.count} instants`)
console.log(Object.entries({ ...outcomes, undecided }).map(([name, count]) => `${name} ${count}`).join(', '))
if (!isComplete) fail(mismatchCount > 0 ? `${mismatchCount} mismatches` : 'some of it was not computed again')
console.log('VERIFIED: every instant is accounted for')
