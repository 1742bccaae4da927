import { z } from 'zod'

/** A word that things are found by. */
export const tagValue = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}$/, 'must be 1 to 63 letters, digits or . _ : / -')

/** The tags of one thing. */
export const tagsValue = z.array(tagValue).max(20)
