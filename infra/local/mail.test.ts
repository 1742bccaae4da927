import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { remove } from './home.ts'
import { type Mail, startMail } from './mail.ts'
import { findFreePort } from './ports.ts'

const folder = mkdtempSync(join(tmpdir(), 'meridian-mail-'))
let smtpPort: number
let web: string
let stop: () => void

beforeAll(async () => {
  const webPort = await findFreePort()
  smtpPort = await findFreePort()
  web = `http://127.0.0.1:${webPort}`
  const mail = await startMail({ smtpPort, webPort, folder })
  stop = () => {
    mail.smtp.close()
    mail.web.close()
    mail.web.closeAllConnections()
  }
})

afterAll(() => {
  stop()
  remove(folder)
})

test('a sent mail is listed with its parts, and shown on pages that run no script', async () => {
  const transport = createTransport({ host: '127.0.0.1', port: smtpPort })
  await transport.sendMail({
    from: 'Meridian <no-reply@meridian.test>',
    to: 'owner@acme.test',
    subject: 'Läuft <b>nicht</b>',
    text: 'Der Lauf ist gescheitert.',
    html: '<p>Der Lauf ist <script>alert(1)</script>gescheitert.</p>',
  })
  const [mail] = (await (await fetch(`${web}/messages`)).json()) as Mail[]
  expect(mail).toMatchObject({
    from: 'no-reply@meridian.test',
    to: ['owner@acme.test'],
    subject: 'Läuft <b>nicht</b>',
    text: expect.stringContaining('Der Lauf ist gescheitert.'),
  })
  const page = await (await fetch(`${web}/messages/${mail?.id}`)).text()
  expect(page).toContain('Läuft &lt;b&gt;nicht&lt;/b&gt;')
  expect(page).not.toContain('<script>')
  const frame = await fetch(`${web}/messages/${mail?.id}.html`)
  expect(frame.headers.get('content-security-policy')).toContain("sandbox; default-src 'none'")
  expect(await (await fetch(web)).text()).toContain('owner@acme.test')
})

test('a name that leads out of the folder shows nothing', async () => {
  expect((await fetch(`${web}/messages/..%2fsecrets`)).status).toBe(404)
})
