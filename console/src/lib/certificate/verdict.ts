import type { Certificate } from '@meridian/sdk'
import type { Meaning } from '#lib/draw/outcome.ts'

const plural = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`

/** What a certificate says, in one sentence and one that goes on. */
export function verdictOf(certificate: Certificate): { meaning: Meaning; title: string; text: string } {
  const { expected, mismatchCount, isComplete, unchecked } = certificate
  if (mismatchCount > 0)
    return {
      meaning: 'failed',
      title: `${plural(mismatchCount, 'instant is', 'instants are')} not told as the schedule has them`,
      text: 'The ledger and the schedule do not agree. This is an incident: it was told as the event certificate.mismatch.',
    }
  if (!isComplete)
    return {
      meaning: 'waiting',
      title: 'Some of it could not be computed again',
      text: `${plural(unchecked, 'entry was', 'entries were')} decided with time zone data that is no longer here. All the rest agrees.`,
    }
  if (expected.count === 0)
    return {
      meaning: 'quiet',
      title: 'Its schedule has no instant in this time',
      text: 'And the ledger tells of none.',
    }
  return {
    meaning: 'succeeded',
    title: 'Every instant is accounted for',
    text: `The schedule was computed again: ${plural(expected.count, 'instant', 'instants')}. The ledger tells of each exactly once, and of nothing else.`,
  }
}

const kinds: Record<Certificate['mismatches'][number]['kind'], string> = {
  missing: 'The ledger does not tell of it',
  unexpected: 'The schedule has no such instant',
  miscounted: 'The entry stands for another number of instants',
}

export const mismatchWords = (kind: keyof typeof kinds): string => kinds[kind]

/** What the ledger counts, those there are, in the order in which people ask. */
export function countsOf(certificate: Certificate): { label: string; count: number; hint?: string }[] {
  const { outcomes, undecided, atSeams, unchecked } = certificate
  return [
    { label: 'Ran', count: outcomes.run },
    { label: 'Skipped', count: outcomes.skipped },
    { label: 'Missed', count: outcomes.missed },
    { label: 'Waiting', count: outcomes.pending, hint: 'Written down, not started yet' },
    { label: 'Undecided', count: undecided, hint: 'Not reached yet, or held open by a pause' },
    { label: 'At a change', count: atSeams, hint: 'In the very second in which the schedule was changed' },
    { label: 'Not computed again', count: unchecked, hint: 'Its time zone data is no longer here' },
  ].filter(({ label, count }) => count > 0 || ['Ran', 'Skipped', 'Missed'].includes(label))
}

/** The id of the key that a JWS was signed with. Throws for what is no JWS. */
export function keyIdOf(jws: string): string {
  const [header = ''] = jws.split('.')
  return (JSON.parse(atob(header.replaceAll('-', '+').replaceAll('_', '/'))) as { kid: string }).kid
}

/** The versions of time zone data that were in force, oldest first. */
export const tzVersionsOf = ({ spans }: Certificate): string[] => [...new Set(spans.map(({ tzVersion }) => tzVersion))]
