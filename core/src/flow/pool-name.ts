/**
 * The name of a pool of executors, as SQL over a row `p` of `pools`: its region. Critical, standard and bulk queues share its
 * executors, so their classes are no part of it.
 */
export const poolName = `case when p.class = 'standard' then p.region_id else p.region_id || '/' || p.class end`
