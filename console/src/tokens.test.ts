import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8')

type Oklch = [lightness: number, chroma: number, hue: number]

function tokens(theme: 'light' | 'dark'): Map<string, Oklch> {
  const found = new Map<string, Oklch>()
  for (const [, name = '', value = ''] of css.matchAll(/--([\w-]+): (.*);/g)) {
    const colours = [...value.matchAll(/oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/g)]
    const colour = colours[theme === 'dark' ? colours.length - 1 : 0]
    if (colour) found.set(name, [Number(colour[1]), Number(colour[2]), Number(colour[3])])
  }
  return found
}

/** Relative luminance (WCAG 2) of an OKLCH colour, by Ottosson's matrices. */
function luminance([lightness, chroma, hue]: Oklch): number {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)]
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  const clip = (value: number) => Math.min(Math.max(value, 0), 1)
  const red = clip(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short)
  const green = clip(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short)
  const blue = clip(-0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: Oklch, other: Oklch): number {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].toSorted((first, second) => second - first)
  return (high + 0.05) / (low + 0.05)
}

const surfaces = ['canvas', 'sunken', 'raised', 'hover']
const onSurfaces = ['text', 'muted', 'faint', 'accent', 'succeeded', 'failed', 'running', 'waiting', 'quiet']
const pairs = [
  ...surfaces.flatMap((surface) => onSurfaces.map((text) => [text, surface] as const)),
  ['on-accent', 'accent-fill'],
  ['on-accent', 'accent-fill-hover'],
  ['on-accent', 'failed-fill'],
  ['on-accent', 'failed-fill-hover'],
  ['text', 'accent-wash'],
  ['accent', 'accent-wash'],
  ['text', 'failed-wash'],
  ['failed', 'failed-wash'],
  ['text', 'waiting-wash'],
  ['waiting', 'waiting-wash'],
] as const

describe.each(['light', 'dark'] as const)('%s', (theme) => {
  const found = tokens(theme)

  it.each(pairs)('%s reads on %s', (text, surface) => {
    const [front, back] = [found.get(text), found.get(surface)]
    if (!front || !back) throw new Error(`${text} or ${surface} is not a token`)
    expect(contrast(front, back)).toBeGreaterThanOrEqual(4.5)
  })

  it('gets lighter as surfaces rise', () => {
    const [sunken, canvas, raised] = ['sunken', 'canvas', 'raised'].map((name) => found.get(name)?.[0] ?? 0)
    expect(sunken).toBeLessThan(canvas ?? 0)
    expect(canvas).toBeLessThan(raised ?? 0)
  })
})
