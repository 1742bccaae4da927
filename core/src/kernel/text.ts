import { z } from 'zod'

// Postgres takes no NUL in text, and no half of a surrogate pair in jsonb.
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** A wire value: one line of text that a person reads, without control characters, trimmed. */
export const lineValue = (max: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .refine((text) => isStorable(text) && !/\p{Cc}/u.test(text), 'must be one line without control characters')

/** A wire value: text of several lines. */
export const proseValue = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => isStorable(text) && !/[^\P{Cc}\t\n\r]/u.test(text), 'must be text without control characters')
