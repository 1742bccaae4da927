/** The HTTP call that every contender stores and makes: the same bytes for each. */
export interface Call {
  url: string
  method: 'POST'
  headers: Record<string, string>
  body: { order: number; placedAtMs: number; note: string }
}

const filler =
  'Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore '.repeat(12)

/** The call number `index` to `url`, `bytes` long as JSON. */
export function makeCall(index: number, url: string, bytes = 1_000): Call {
  const call: Call = {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenant': `t${index % 50}` },
    body: { order: index, placedAtMs: 1_764_432_000_000 + index, note: '' },
  }
  call.body.note = filler.slice(0, Math.max(0, bytes - JSON.stringify(call).length))
  return call
}
