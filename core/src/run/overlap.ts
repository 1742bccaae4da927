/** How overlap rules are written in `schedules` and `due`; `promote_due` decides by them. */
export const overlapCodes = {
  skip: 0,
  allow: 1,
  'queue-one': 2,
  'queue-all': 3,
  'cancel-running': 4,
  replace: 5,
} as const
export type OverlapRule = keyof typeof overlapCodes
export const overlapRules = Object.keys(overlapCodes) as [OverlapRule, ...OverlapRule[]]
