import { createSecretKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type Block, type Item, itemAt, openBlock, openBlockNow, sealTogether } from '../../src/secret/block.ts'
import { keyProviderOf } from '../../src/secret/key-provider.ts'
import { KeyRing } from '../../src/secret/key-ring.ts'
import { createTenant } from '../../src/testing/factories.ts'
import { createTestDb, type TestDb } from '../../src/testing/test-db.ts'

const blockBytes = 16_384

let db: TestDb
let ring: KeyRing
const tenants: string[] = []
beforeAll(async () => {
  db = await createTestDb(inject('postgresUrl'))
  ring = new KeyRing(db.app, keyProviderOf(createSecretKey(randomBytes(32))))
  for (let count = 0; count < 2; count++) tenants.push((await createTenant(db)).tenantId)
})
afterAll(() => db.close())

const itemsOf = (sizes: number[], content: (size: number) => Buffer): Item[] =>
  sizes.map((size, index) => ({ tenantId: tenants[index % 2] ?? '', bytes: content(size) }))

async function reopen(items: readonly Item[]): Promise<{ blocks: Block[]; read: (Buffer | null)[] }> {
  const { blocks, places } = await sealTogether(ring, items, blockBytes)
  const opened = new Map<string, Buffer>()
  for (const block of blocks) opened.set(block.id, await openBlock(ring, block))
  const read = places.map((place) => {
    const block = place && opened.get(place.blockId)
    return block ? itemAt(block, place.offset) : null
  })
  return { blocks, read }
}

describe('blocks', () => {
  const contents = {
    alike: (size: number) => Buffer.alloc(size, '{"customer":"acme","amount":12}'),
    random: (size: number) => randomBytes(size),
  }
  for (const [name, content] of Object.entries(contents)) {
    it(`give back what was put into them: ${name} bytes, from none to more than a block`, async () => {
      const items = itemsOf([0, 1, 40, 511, 512, 700, 900, 6_000, 16_384, 100, 140_000, 3, 300_000], content)
      const { blocks, read } = await reopen([...items, { tenantId: tenants[0] ?? '', bytes: null }])
      expect(read.map((bytes) => bytes?.toString('hex') ?? null)).toEqual([
        ...items.map(({ bytes }) => bytes?.toString('hex')),
        null,
      ])
      for (const block of blocks) {
        expect(openBlockNow(ring, block)).toEqual(await openBlock(ring, block))
        expect(block.sealed.length).toBeLessThanOrEqual(300_000 + blockBytes)
      }
    })
  }

  it('hold one tenant each, and one group', async () => {
    const items = ['a', 'b', 'a', 'b'].flatMap((group) =>
      tenants.map((tenantId): Item => ({ tenantId, group, bytes: Buffer.from(group) })),
    )
    const { blocks, read } = await reopen(items)
    expect(blocks.map(({ tenantId }) => tenantId).sort()).toEqual([...tenants, ...tenants].sort())
    expect(read.map(String)).toEqual(items.map(({ group }) => group))
  })

  it('take little room for requests that are much alike', async () => {
    const request = (index: number) =>
      Buffer.from(JSON.stringify({ url: `https://example.com/hooks/${index}`, customer: 'acme', amount: index * 3 }))
    const items = Array.from(
      { length: 64 },
      (_, index): Item => ({ tenantId: tenants[0] ?? '', bytes: request(index) }),
    )
    const { blocks } = await reopen(items)
    const plainBytes = items.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0)
    expect(blocks.reduce((sum, { sealed }) => sum + sealed.length, 0)).toBeLessThan(plainBytes / 2)
  })

  it('do not open when they were changed, or as somebody else’s', async () => {
    const [block] = (await sealTogether(ring, itemsOf([2_000], contents.alike), blockBytes)).blocks
    if (block === undefined) throw new Error('there is no block')
    const changed = Buffer.from(block.sealed)
    changed[changed.length - 20] = (changed.at(-20) ?? 0) ^ 1
    await expect(openBlock(ring, { ...block, sealed: changed })).rejects.toThrow('authenticate')
    await expect(openBlock(ring, { ...block, tenantId: tenants[1] ?? '' })).rejects.toThrow(/key|authenticate/)
  })
})
