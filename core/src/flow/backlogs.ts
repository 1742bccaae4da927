import { arrayLiteral, type PoolClient, runNamed } from '../db/client.ts'
import type { Uuid } from '../kernel/ids.ts'
import type { Lane } from './lanes.ts'

type BacklogRow = [tenantId: Uuid, gateId: Uuid, most: number, room: number, rejects: boolean]

/** The backlogs that runs about to be made would add to. They are this transaction's until it ends. */
export class Backlogs {
  readonly #client: PoolClient
  /** How many more each one takes that refuses what is too much. */
  readonly #room: Map<Uuid, number>
  /** Those that drop what has waited longest. */
  readonly #dropping: BacklogRow[]

  private constructor(client: PoolClient, rows: readonly BacklogRow[]) {
    this.#client = client
    this.#room = new Map(rows.flatMap(([, gateId, , room, rejects]) => (rejects ? [[gateId, room]] : [])))
    this.#dropping = rows.filter(([, , , , rejects]) => !rejects)
  }

  /** Locks the backlogs of lanes; nothing where no lane has one. */
  static async lock(client: PoolClient, lanes: readonly { tenantId: Uuid; lane: Lane }[]): Promise<Backlogs> {
    if (lanes.length === 0) return new Backlogs(client, [])
    const gates = new Map(lanes.flatMap(({ tenantId, lane }) => lane.gates.map(({ id }) => [id, tenantId])))
    const rows = await runNamed<BacklogRow>(client, 'lock_backlogs', 'select * from lock_backlogs($1, $2)', [
      arrayLiteral([...gates.values()]),
      arrayLiteral([...gates.keys()]),
    ])
    return new Backlogs(client, rows)
  }

  /** How many more runs may wait in a lane. */
  roomOf({ gates }: Lane): number {
    return Math.min(...gates.map(({ id }) => this.#room.get(id) ?? Number.POSITIVE_INFINITY))
  }

  /** Takes the place of one more run in its lane; false when there is none. */
  take(lane: Lane): boolean {
    if (this.roomOf(lane) <= 0) return false
    for (const { id } of lane.gates) {
      const room = this.#room.get(id)
      if (room !== undefined) this.#room.set(id, room - 1)
    }
    return true
  }

  /** Ends what is too much by now, where the oldest are dropped. Called when the runs are written. */
  async drop(): Promise<void> {
    for (const [tenantId, gateId, most] of this.#dropping)
      await runNamed(this.#client, 'drop_oldest', 'select drop_oldest($1, $2, $3)', [tenantId, gateId, most])
  }
}
