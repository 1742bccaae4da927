import { linkSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { readJson, remove, writeJson } from './home.ts'
import { birthOf, isAlive } from './process-record.ts'

/** What a claim says: who made it, and what else its kind wants to say. */
export interface Claim {
  pid: number
  birth: string
}

/** This process, as a claim names it. */
export const ownClaim = (): Claim => ({ pid: process.pid, birth: birthOf(process.pid) ?? '' })

/**
 * Claims a file for this process. Returns undefined when it is ours now, else the claim of the living process that
 * has it; what a dead one left is taken over.
 */
export function claimFile<Held extends Claim>(file: string, extra: Omit<Held, keyof Claim>): Held | undefined {
  mkdirSync(dirname(file), { recursive: true })
  // Linking a finished draft either gives the whole file or fails: nobody reads half of a claim, or makes two.
  const draft = `${file}.${process.pid}.draft`
  writeJson(draft, { ...ownClaim(), ...extra })
  try {
    for (;;) {
      try {
        linkSync(draft, file)
        return undefined
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        const holder = readJson<Held>(file)
        if (holder && isAlive(holder)) return holder
        remove(file)
      }
    }
  } finally {
    remove(draft)
  }
}
