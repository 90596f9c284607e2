// A time range as the URL and the API write it: `since=1h`, or two RFC 3339 instants.

export const PRESETS: [string, string][] = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['6h', 'last 6 hours'],
  ['24h', 'last 24 hours'],
  ['7d', 'last 7 days'],
  ['all', 'all time'],
]

export const DEFAULT_RANGE = '1h'

export interface TimeRange {
  since: string
  until: string | null
}

export function rangeFromParams(params: URLSearchParams, standard = DEFAULT_RANGE): TimeRange {
  return { since: params.get('since') ?? standard, until: params.get('until') }
}

export function rangeName(range: TimeRange): string {
  const preset = PRESETS.find(([value]) => value === range.since)
  if (preset && !range.until) return preset[1]
  return range.until ? `${minuteOf(range.since)} – ${minuteOf(range.until)}` : `since ${minuteOf(range.since)}`
}

function minuteOf(text: string): string {
  const ms = instantMs(text)
  return ms === null ? text : new Date(ms).toLocaleString('sv-SE').slice(0, 16)
}

// The range as the end of a sentence: "in the last hour", "over all time", "between … and …".
export function rangePhrase({ since, until }: TimeRange): string {
  if (since === 'all') return until ? `before ${minuteOf(until)}` : 'over all time'
  if (until) return `between ${minuteOf(since)} and ${minuteOf(until)}`
  const preset = PRESETS.find(([value]) => value === since)
  return preset ? `in the ${preset[1]}` : `since ${minuteOf(since)}`
}

const BACK: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 }

export function instantMs(text: string, now = Date.now()): number | null {
  const back = /^(\d+)([smhd])$/.exec(text)
  if (back) return now - Number(back[1]) * BACK[back[2]!]!
  if (/^\d{16,}$/.test(text)) return Number(BigInt(text) / 1_000_000n)
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? null : ms
}
