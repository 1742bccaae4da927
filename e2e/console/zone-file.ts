/** A compiled zone file (TZif, RFC 9636) of a zone that never changes its clocks; the offset in seconds. */
export function fixedZone(offsetSeconds: number): Buffer {
  const header = Buffer.alloc(44)
  header.write('TZif2')
  // One type of time, and the four letters of its name.
  header.writeUInt32BE(1, 36)
  header.writeUInt32BE(4, 40)
  const type = Buffer.alloc(6)
  type.writeInt32BE(offsetSeconds)
  const block = Buffer.concat([header, type, Buffer.from('LMT\0')])
  return Buffer.concat([block, block, Buffer.from('\n\n')])
}
