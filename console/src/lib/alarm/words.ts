import type { Alarm, InstallationAlarm } from '@meridian/sdk'

/** Something that stands still, as a person is told of it. */
export interface Told {
  key: string
  title: string
  /** What it means, and what to do. */
  text: string
  since: string | null
  href?: string
  /** The job whose schedule a repair sets right. */
  repairs?: string
}

/** What stands still in a project, in words. */
export function tellAlarm(alarm: Alarm, base: string): Told {
  const { kind, subject, name, since } = alarm
  const told = { key: `${kind} ${subject}`, since }
  if (kind === 'schedule-stuck')
    return {
      ...told,
      title: `The schedule of ${name ?? 'a deleted job'} stands still`,
      text: 'An instant is past its grace and nobody has decided it. Repair sets the schedule to where its ledger says that it stands; if it does not go on then, no scheduler runs.',
      href: `${base}/jobs/${subject}`,
      repairs: subject,
    }
  if (kind === 'schedule-astray')
    return {
      ...told,
      title: `The schedule of ${name ?? 'a deleted job'} has gone astray`,
      text: 'It would leave out an instant: what it means to do next comes later than what its ledger waits for, or it means to do nothing more. Repair sets it to where its ledger says that it stands.',
      href: `${base}/jobs/${subject}`,
      repairs: subject,
    }
  if (kind === 'lease-stuck')
    return {
      ...told,
      title: 'A run is held by an executor that is gone',
      text: 'Its lease is over and no reaper has released it. The watchdog does so now, and the run is tried again.',
      href: `${base}/runs/${subject}`,
    }
  if (kind === 'operation-stuck')
    return {
      ...told,
      title: 'An operation takes no step',
      text: 'It goes on by itself as soon as a worker with the role scheduler runs. Nothing of it is done twice.',
      href: `${base}/operations/${subject}`,
    }
  return {
    ...told,
    title: `Runs for ${name ?? 'a host'} are held though they might go`,
    text: 'The watchdog lets them go now. If they stay, let the host go by hand.',
    href: `${base}/breakers`,
  }
}

const ofInstallation: Record<InstallationAlarm['kind'], (name: string) => Pick<Told, 'title' | 'text'>> = {
  'dispatch-stuck': (pool) => ({
    title: 'Runs are due and are not started',
    text: `Nobody gives slots in pool ${pool}. See whether a dispatcher, an executor and Redis run; nothing is lost, and all of it goes as soon as they do.`,
  }),
  'events-stuck': (reader) => ({
    title: 'Events are not told on',
    text: `The reader “${reader}” stands still, so this console does not move by itself. See whether a relay runs.`,
  }),
  'deadlines-stuck': () => ({
    title: 'Deadlines are not minded',
    text: 'Runs that should have expired still wait. See whether a reaper runs.',
  }),
  'partitions-missing': (table) => ({
    title: `No partitions are made for ${table}`,
    text: 'Those of the week after next are missing. See whether a janitor runs, and why it can’t make them.',
  }),
  'partition-overflow': (table) => ({
    title: `Rows of ${table} lie outside its partitions`,
    text: 'They are read like all others, but are not dropped with their week. The janitor moves them in when it makes it.',
  }),
}

/** What stands still for everybody. */
export const tellInstallationAlarm = ({ kind, name, since }: InstallationAlarm): Told => ({
  key: `${kind} ${name}`,
  since,
  ...ofInstallation[kind](name),
})

/** A watchdog that does not look is the first thing to know. */
export const tellSilence = (watchedAt: string | null): Told => ({
  key: 'watchdog',
  title: watchedAt === null ? 'No watchdog has ever looked' : 'The watchdog does not look',
  text: 'Nobody knows whether anything stands still. See whether its process runs and reaches the database.',
  since: watchedAt,
})
