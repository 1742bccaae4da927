import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'

export type Log = Logger

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

// A second wall: nothing should log these, and when something does, they do not leave the process.
const secretPaths = ['authorization', 'cookie', 'password', 'secret', 'token', 'idToken', 'apiKey'].flatMap((name) => [
  name,
  `*.${name}`,
  `*.headers.${name}`,
])

/** A logger of one JSON line per entry on standard output: `time` in ISO 8601, `level` by name, `service`. */
export function createLog(options: { service: string; level: LogLevel; destination?: DestinationStream }): Log {
  const settings = {
    level: options.level,
    base: { service: options.service },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: secretPaths, censor: '[redacted]' },
  }
  return options.destination ? pino(settings, options.destination) : pino(settings)
}
