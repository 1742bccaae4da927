import { row as A1 } from './A1.ts'
import { row as A2 } from './A2.ts'
import { row as A3 } from './A3.ts'
import { row as A4 } from './A4.ts'
import { row as A6 } from './A6.ts'
import { row as A7 } from './A7.ts'
import { row as breaker } from './breaker.ts'
import { row as classes } from './classes.ts'
import { row as completeness } from './completeness.ts'
import { row as fairness } from './fairness.ts'
import { row as R1 } from './R1.ts'
import { row as R2 } from './R2.ts'
import { row as R3 } from './R3.ts'
import { row as R4 } from './R4.ts'
import { row as R5 } from './R5.ts'
import { row as R6 } from './R6.ts'
import { row as R7 } from './R7.ts'
import { row as R8 } from './R8.ts'
import { row as R9 } from './R9.ts'
import { row as R10 } from './R10.ts'
import { row as R11 } from './R11.ts'
import { row as R12 } from './R12.ts'
import { row as R13 } from './R13.ts'
import { row as R14 } from './R14.ts'
import { row as R15 } from './R15.ts'
import { row as R17 } from './R17.ts'
import { row as R19 } from './R19.ts'
import { row as R21 } from './R21.ts'
import { row as R31 } from './R31.ts'
import { row as R32 } from './R32.ts'
import type { Row } from './row.ts'
import { row as S4 } from './S4.ts'

/** The rows that need the whole product, running. */
export const rows: Record<string, Row> = {
  R1,
  R2,
  R3,
  R4,
  R5,
  R6,
  R7,
  R8,
  R9,
  R10,
  R11,
  R12,
  R13,
  R14,
  R15,
  R17,
  R19,
  R21,
  R31,
  R32,
  A1,
  A2,
  A3,
  A4,
  A6,
  A7,
  S4,
  completeness,
  breaker,
  fairness,
  classes,
}

/** A row that is held by tests inside a package. */
export interface PackageRow {
  title: string
  folder: string
  files: readonly string[]
  /** What its tests are told in the bench profile. */
  benchEnvironment?: Record<string, string>
}

export const packageRows: Record<string, PackageRow> = {
  C1: {
    title: 'every case of the field comes out as published, wherever the process runs',
    folder: 'core',
    files: ['src/schedule/field-cases.test.ts'],
  },
  C2: {
    title: 'instants of random rules, zones and references are increasing, whole, and what brute force finds',
    folder: 'core',
    files: ['src/schedule/occurrences.property.test.ts', 'src/schedule/rrule.property.test.ts'],
    benchEnvironment: { PROPERTY_RUNS: '100000' },
  },
  C3: {
    title: 'nothing is accepted that would never run, and what is refused says where',
    folder: 'core',
    files: [
      'src/schedule/schedule.test.ts',
      'src/schedule/schedule-rrule.test.ts',
      'src/schedule/full-schedule.test.ts',
    ],
  },
  C4: {
    title: 'over a year with its clock changes, what the preview says is what the ledger gets',
    folder: 'core',
    files: ['test/run/simulated-year.test.ts'],
  },
  R16: {
    title: 'whatever a target does, an attempt ends in time, as the right class, and with bounded memory',
    folder: 'workers',
    files: ['test/hostile-targets.test.ts'],
  },
  R18: {
    title: 'the back-off is a whole number of milliseconds in its bounds, and never falls',
    folder: 'core',
    files: ['src/kernel/backoff.test.ts', 'src/run/retry-policy.test.ts'],
  },
  S1: {
    title: 'no literal of a private address, however it is written, is ever connected to',
    folder: 'workers',
    files: ['test/ssrf-literals.test.ts'],
  },
  S2: {
    title: 'no name leads to a private address, whatever the resolver says and when',
    folder: 'workers',
    files: ['test/ssrf-names.test.ts'],
  },
  S3: {
    title: 'every hop of a redirect is checked again, and secrets stay with their origin',
    folder: 'workers',
    files: ['test/redirects.test.ts'],
  },
}
