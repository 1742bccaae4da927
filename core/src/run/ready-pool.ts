/**
 * Under which pool a run lies in `ready`, as SQL over its row: what minds a limit of its own lies under the number
 * and 1,000, where admission asks those limits first.
 */
export const readyPool = 'case when lane is null then pool else pool + 1000 end'
