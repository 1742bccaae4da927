import type { Contender, Measure } from './benchmark.ts'
import type { Lab } from './lab.ts'
import type { PeerProcess } from './peer-process.ts'
import { type PeerName, whyAway } from './peers/peer.ts'

/** A peer that takes part: `round` drives a fresh process of it. */
export const peerContender = (
  name: PeerName,
  round: (lab: Lab, process: PeerProcess) => Promise<Measure[]>,
): Contender => ({
  name,
  whyAway: () => whyAway(name),
  round: (lab) => lab.withPeer(name, (process) => round(lab, process)),
})
