import { readVerdictColours, type VerdictColours } from './verdict'

// Colour means service. A name hashes to a place in a palette whose neighbours differ in lightness as well as in hue, for
// colour-blind readers. Services take their places in sorted order, and the next free place if theirs is taken, so that
// every browser shows the same colours.

const LIGHT = [
  '#3d6fc4', '#d97a1c', '#128f7e', '#8757c9', '#b58e0a', '#4aa3d8',
  '#b33d7c', '#6a8a1f', '#86614a', '#4a4fb0', '#c4683f', '#5d7686',
]
const DARK = [
  '#6f9df0', '#f0a04b', '#3fc0ac', '#b08cf0', '#dcbc45', '#86cdf5',
  '#e673ae', '#a3c552', '#bd9379', '#8d92ee', '#ee9a74', '#93abbb',
]

export const paletteSize = LIGHT.length

function hash(name: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193) >>> 0
  return h
}

let known: string[] = []
const places = new Map<string, number>()
let version = 0

// Changes when places move, for code that caches colours.
export const coloursVersion = (): number => version

export function registerServices(names: readonly string[]): void {
  const all = [...new Set([...known, ...names])].sort()
  if (all.length === known.length) return
  known = all
  places.clear()
  version++
  const taken = new Set<number>()
  for (const name of known) {
    let place = hash(name) % paletteSize
    if (taken.size < paletteSize) while (taken.has(place)) place = (place + 1) % paletteSize
    taken.add(place)
    places.set(name, place)
  }
}

export function servicePlace(name: string): number {
  return places.get(name) ?? hash(name) % paletteSize
}

export type ThemeName = 'light' | 'dark'

export const serviceColour = (name: string, theme: ThemeName): string =>
  (theme === 'dark' ? DARK : LIGHT)[servicePlace(name)]!

// The i-th colour, for lines without a service.
export const paletteColour = (i: number, theme: ThemeName): string => (theme === 'dark' ? DARK : LIGHT)[i % paletteSize]!

// The style sheet's variables that canvases need, read once per theme change instead of per frame.
export interface CanvasColours {
  theme: ThemeName
  background: string
  stripe: string
  line: string
  faint: string
  text: string
  muted: string
  accent: string
  accentSoft: string
  bad: string
  warn: string
  verdicts: VerdictColours
}

export function readCanvasColours(theme: ThemeName): CanvasColours {
  const style = getComputedStyle(document.documentElement)
  const v = (name: string) => style.getPropertyValue(name).trim()
  return {
    theme,
    background: v('--surface'),
    stripe: v('--stripe'),
    line: v('--line'),
    faint: v('--faint'),
    text: v('--text'),
    muted: v('--muted'),
    accent: v('--accent'),
    accentSoft: v('--accent-soft'),
    bad: v('--bad'),
    warn: v('--warn'),
    verdicts: readVerdictColours(),
  }
}
