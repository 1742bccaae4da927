import { readBullmq } from './bullmq.ts'
import { readCloudScheduler } from './cloud-scheduler.ts'
import { hasUserColumn, readCrontab } from './crontab.ts'
import { readDocuments } from './document.ts'
import type { ImportFormat, ReadOptions, Source } from './entry.ts'
import { readEventBridge } from './eventbridge.ts'
import { readGithubActions } from './github-actions.ts'
import { readKubernetes } from './kubernetes.ts'
import { readTemporal } from './temporal.ts'

const readers: Readonly<Record<ImportFormat, (text: string, options: ReadOptions) => Source>> = {
  crontab: (text, options) => readCrontab(text, options, false),
  'system-crontab': (text, options) => readCrontab(text, options, true),
  kubernetes: readKubernetes,
  eventbridge: readEventBridge,
  'cloud-scheduler': readCloudScheduler,
  'github-actions': readGithubActions,
  bullmq: readBullmq,
  temporal: readTemporal,
}

/** Reads a source in its format. Never throws: what can't be read is a problem that names its line. */
export const readSource = (format: ImportFormat, text: string, options: ReadOptions): Source =>
  readers[format](text, options)

/** The format a text is in, by what it holds; a crontab when nothing else. */
export function detectFormat(text: string, fileName?: string): ImportFormat {
  const start = text.trimStart()
  if (/^[{[]/.test(start) || /^(---|#|\w+:|%YAML)/m.test(start)) {
    const format = documentFormat(text)
    if (format !== undefined) return format
  }
  if (fileName !== undefined && /(^|\/)(etc\/crontab|cron\.d\/)/.test(fileName)) return 'system-crontab'
  return hasUserColumn(text) ? 'system-crontab' : 'crontab'
}

function documentFormat(text: string): ImportFormat | undefined {
  const { parts } = readDocuments(text)
  for (const part of parts) {
    const first = part.items()[0] ?? part
    const has = (name: string): boolean => part.has(name) || first.has(name)
    if (part.has('kind') && part.has('apiVersion')) return 'kubernetes'
    if (part.get('kind').text?.startsWith('CronJob')) return 'kubernetes'
    if (part.has('Resources') || has('ScheduleExpression') || part.has('Rules') || part.has('Schedules'))
      return 'eventbridge'
    if (first.get('schedule').get('spec').isMap) return 'temporal'
    if (
      part
        .get('jobs')
        .items()
        .some((job) => job.has('schedule')) ||
      (has('schedule') && ['httpTarget', 'pubsubTarget', 'appEngineHttpTarget', 'timeZone'].some(has))
    )
      return 'cloud-scheduler'
    if (part.get('on').isMap || (part.has('on') && part.has('jobs'))) return 'github-actions'
    if (has('key') && (has('pattern') || has('every'))) return 'bullmq'
  }
  return undefined
}
