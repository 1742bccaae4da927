import { escapeHtml, page } from './page.ts'

export interface SignInView {
  action: string
  emails: readonly string[]
  email?: string
  problem?: string
}

/** The sign-in page: two fields, no script. The field that has to be filled next has the focus. */
export function signInPage({ action, emails, email = '', problem }: SignInView): string {
  const focus = (isHere: boolean): string => (isHere ? ' autofocus' : '')
  return page(
    'Sign in',
    `<h1>Sign in</h1>
    <p>This identity provider belongs to your local Meridian.</p>
    <form method="post" action="${escapeHtml(action)}">
      <label for="email">E-mail</label>
      <input id="email" name="email" type="email" list="people" autocomplete="username" required
        value="${escapeHtml(email)}"${focus(email === '')}>
      <datalist id="people">${emails.map((known) => `<option value="${escapeHtml(known)}">`).join('')}</datalist>
      <label for="password">Password</label>
      <input id="password" name="password" type="password" autocomplete="current-password" required${focus(email !== '')}>
      ${problem === undefined ? '' : `<p role="alert">${escapeHtml(problem)}</p>`}
      <button type="submit">Sign in</button>
      <button type="submit" class="quiet" name="cancel" value="yes" formnovalidate>Cancel</button>
    </form>
    <p class="note">The people and their passwords are in the table that <code>./meridian up</code> prints;
    <code>./meridian status</code> shows it again.</p>`,
    true,
  )
}

/** Asks whether to end the session here too; `form` is the provider's own, with its token. */
export const signOutPage = (form: string): string =>
  page(
    'Sign out',
    `<h1>Sign out</h1><p>This ends your session with the identity provider too.</p>${form}
    <button type="submit" form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
    <button type="submit" form="op.logoutForm" class="quiet">Stay signed in</button>`,
    true,
  )

/** A page that only says something. */
export const notePage = (title: string, text: string): string =>
  page(title, `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>`, true)
