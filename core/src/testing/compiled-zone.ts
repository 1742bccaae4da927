/** A zone file as `zic` writes it: changes of offset in seconds, and the rule that follows them. */
export function compileZone(
  first: number,
  changes: readonly (readonly [at: string, offset: number])[],
  rule: string,
): Buffer {
  const offsets = [first, ...changes.map(([, offset]) => offset)]
  const header = (times: number, types: number): Buffer => {
    const bytes = Buffer.alloc(44)
    bytes.write('TZif2')
    for (const [index, value] of [0, 0, 0, times, types, 4].entries()) bytes.writeUInt32BE(value, 20 + index * 4)
    return bytes
  }
  const type = (offset: number): Buffer => {
    const bytes = Buffer.alloc(6)
    bytes.writeInt32BE(offset)
    return bytes
  }
  const time = (at: string): Buffer => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt(Date.parse(at) / 1_000))
    return bytes
  }
  return Buffer.concat([
    header(0, 1),
    type(first),
    Buffer.from('LMT\0'),
    header(changes.length, offsets.length),
    ...changes.map(([at]) => time(at)),
    Buffer.from(changes.map((_, index) => index + 1)),
    ...offsets.map(type),
    Buffer.from('LMT\0'),
    Buffer.from(`\n${rule}\n`),
  ])
}
