import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import PostalMime, { type Address, type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { escapeHtml, page, sendJson, sendPage } from './page.ts'
import { serve } from './serve.ts'

export interface MailSettings {
  smtpPort: number
  webPort: number
  /** Keeps every mail as a file. */
  folder: string
}

/** A mail as the JSON of the web page shows it; newest first in lists. */
export interface Mail {
  id: string
  receivedAt: string
  from: string
  to: string[]
  subject: string
  text: string
  html: string | null
}

/** Takes every mail, sends none on, and shows them on a page that can only read. */
export async function startMail(settings: MailSettings): Promise<{ web: Server; smtp: SMTPServer }> {
  mkdirSync(settings.folder, { recursive: true })
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onAuth: (_auth, _session, done) => done(null, { user: 'anyone' }),
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        keep(settings.folder, Buffer.concat(chunks))
        done()
      })
    },
  })
  smtp.listen(settings.smtpPort, '127.0.0.1')
  await once(smtp.server, 'listening')
  const web = createServer((request, response) => {
    show(settings.folder, request.url ?? '/')
      .then((answer) => {
        if (answer === undefined) sendPage(response, 404, page('Not found', '<h1>There is no such mail</h1>'))
        else if (typeof answer === 'string') sendPage(response, 200, answer)
        else if ('frame' in answer) {
          response.writeHead(200, {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': framePolicy,
          })
          response.end(answer.frame)
        } else sendJson(response, 200, answer.json)
      })
      .catch((error: unknown) => {
        process.stderr.write(`${String(error)}\n`)
        sendPage(response, 500, page('Error', '<h1>This mail can not be shown</h1>'))
      })
  })
  await serve(web, settings.webPort)
  return { web, smtp }
}

const framePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

// The name begins with the time, so names in order are mails in order.
function keep(folder: string, raw: Buffer): void {
  const name = `${String(Date.now()).padStart(15, '0')}-${randomUUID().slice(0, 8)}`
  writeFileSync(join(folder, `${name}.draft`), raw)
  renameSync(join(folder, `${name}.draft`), join(folder, `${name}.eml`))
}

type Answer = string | { json: unknown } | { frame: string } | undefined

/** `/` and `/messages` list; `/messages/<id>`, `.json` and `.html` show one. */
async function show(folder: string, path: string): Promise<Answer> {
  const ids = readdirSync(folder)
    .filter((file) => file.endsWith('.eml'))
    .map((file) => file.slice(0, -4))
    .sort()
    .reverse()
  if (path === '/') return listPage(await Promise.all(ids.slice(0, 200).map((id) => read(folder, id))))
  if (path === '/messages') return { json: await Promise.all(ids.map((id) => read(folder, id))) }
  const [, id = '', form] = /^\/messages\/([\w-]+)(\.json|\.html)?$/.exec(path) ?? []
  if (!ids.includes(id)) return undefined
  const mail = await read(folder, id)
  if (form === '.json') return { json: mail }
  if (form === '.html') return mail.html === null ? undefined : { frame: mail.html }
  return mailPage(mail)
}

async function read(folder: string, id: string): Promise<Mail> {
  const mail: Email = await PostalMime.parse(readFileSync(join(folder, `${id}.eml`)))
  return {
    id,
    receivedAt: new Date(Number.parseInt(id, 10)).toISOString(),
    from: addresses(mail.from && [mail.from]).join(', '),
    to: addresses(mail.to),
    subject: mail.subject ?? '',
    text: mail.text ?? '',
    html: mail.html ?? null,
  }
}

const addresses = (list: Address[] = []): string[] =>
  list.flatMap((entry) => entry.group?.map((member) => member.address) ?? [entry.address ?? entry.name])

function listPage(mails: Mail[]): string {
  const rows = mails.map(
    (mail) => `<tr><td><a href="/messages/${mail.id}">${escapeHtml(mail.subject || '(no subject)')}</a></td>
      <td>${escapeHtml(mail.to.join(', '))}</td><td><time>${mail.receivedAt}</time></td></tr>`,
  )
  const table = `<table><thead><tr><th>Subject<th>To<th>Received</thead><tbody>${rows.join('')}</tbody></table>`
  return page(
    'Mail',
    `<h1>Mail</h1><p>Nothing leaves this machine. <a href="/messages">JSON</a></p>
    ${mails.length === 0 ? '<p>There is no mail yet.</p>' : table}`,
  )
}

function mailPage(mail: Mail): string {
  return page(
    mail.subject,
    `<p><a href="/">All mail</a></p><h1>${escapeHtml(mail.subject || '(no subject)')}</h1>
    <dl><dt>From</dt><dd>${escapeHtml(mail.from)}</dd><dt>To</dt><dd>${escapeHtml(mail.to.join(', '))}</dd>
    <dt>Received</dt><dd><time>${mail.receivedAt}</time></dd></dl>
    ${mail.text === '' ? '' : `<pre>${escapeHtml(mail.text)}</pre>`}
    ${mail.html === null ? '' : `<iframe sandbox title="The mail as HTML" src="/messages/${mail.id}.html"></iframe>`}
    <p><a href="/messages/${mail.id}.json">JSON</a></p>`,
  )
}

if (import.meta.main) await startMail(JSON.parse(process.env.SETTINGS ?? '{}') as MailSettings)
