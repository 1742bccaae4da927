import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

/** The checkout this program belongs to. */
export const root = resolve(import.meta.dirname, '../..')

/** Where one stack keeps everything it makes: data, logs, secrets, ports and process records. */
export interface Home {
  readonly path: string
  /** A path inside the home; its folder exists afterwards. */
  file(...parts: string[]): string
  /** A folder inside the home; it exists afterwards. */
  folder(...parts: string[]): string
}

/** The home named by `MERIDIAN_HOME` (relative to the checkout), or `.meridian`. */
export function openHome(path = process.env.MERIDIAN_HOME || '.meridian'): Home {
  const absolute = resolve(root, path)
  return {
    path: absolute,
    file(...parts) {
      const file = join(absolute, ...parts)
      mkdirSync(dirname(file), { recursive: true })
      return file
    },
    folder(...parts) {
      const folder = join(absolute, ...parts)
      mkdirSync(folder, { recursive: true })
      return folder
    },
  }
}

/** The parsed JSON of a file, or undefined when there is no such file or it was cut short. */
export function readJson<T>(file: string): T | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Writes JSON so that a reader sees the old file or the new one, never half of one. */
export function writeJson(file: string, value: unknown, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode })
  renameSync(draft, file)
}

/** Removes a file or folder; it is no error when there is none. */
export const remove = (path: string): void => rmSync(path, { recursive: true, force: true })
