import { createHash, randomBytes } from 'node:crypto'

/** `mk_` opens the API for a program, `ms_` for a person who signed in; `mp_` only tells that a job of theirs ran. */
export type TokenPrefix = 'mk' | 'ms' | 'mp'

const pattern = /^(mk|ms|mp)_[A-Za-z0-9_-]{43}$/

/** A new secret: 256 random bits. It is shown once and never stored. */
export const newToken = (prefix: TokenPrefix): string => `${prefix}_${randomBytes(32).toString('base64url')}`

/** Whether a text has the form of such a secret, so that nonsense never reaches the database. */
export const isToken = (prefix: TokenPrefix, text: string): boolean => pattern.test(text) && text.startsWith(prefix)

/** What is stored of a token. A plain digest suffices: nobody guesses 256 random bits. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The last four characters, so that a person can tell secrets apart. */
export const tokenHint = (token: string): string => token.slice(-4)
