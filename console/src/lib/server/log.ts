import { pino } from 'pino'
import { LOG_LEVEL } from '$app/env/private'

/** One JSON line per event on standard output. Tokens and cookies are never logged. */
export const log = pino({ level: LOG_LEVEL, base: { service: 'console' } })
