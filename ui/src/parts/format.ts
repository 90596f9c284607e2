// Numbers for readers: three significant digits and a suitable unit. The exact value goes into a tooltip.

const UNITS: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
]

function threeDigits(value: number): string {
  if (value >= 100) return value.toFixed(0)
  if (value >= 10) return value.toFixed(1).replace(/\.0$/, '')
  return value.toFixed(2).replace(/\.?0+$/, '')
}

function twoUnits(ns: number, large: number, largeName: string, small: number, smallName: string): string {
  const rounded = Math.round(ns / small)
  const per = large / small
  const rest = rounded % per
  return `${Math.floor(rounded / per)} ${largeName}${rest ? ` ${rest} ${smallName}` : ''}`
}

export function duration(ns: number): string {
  if (ns < 0) return `−${duration(-ns)}`
  if (ns === 0) return '0'
  if (ns >= 172800e9) return twoUnits(ns, 86400e9, 'd', 3600e9, 'h')
  if (ns >= 3600e9) return twoUnits(ns, 3600e9, 'h', 60e9, 'min')
  if (ns >= 59.995e9) return twoUnits(ns, 60e9, 'min', 1e9, 's')
  for (const [size, unit] of UNITS) {
    // 999.6 µs would round to "1000 µs"; it prints as 1 ms.
    if (ns >= size * 0.9995) return `${threeDigits(ns / size)} ${unit}`
  }
  return `${ns} ns`
}

export const grouped = (value: number | bigint): string => value.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',')

export const exactNs = (ns: number | bigint): string => `${grouped(ns)} ns`

export function count(value: number, one: string, many = `${one}s`): string {
  return `${grouped(value)} ${value === 1 ? one : many}`
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 ? value : threeDigits(value)} ${units[unit]}`
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return '0 %'
  const value = (part / whole) * 100
  return value > 0 && value < 1 ? '< 1 %' : `${Math.round(value)} %`
}

const two = (n: number) => String(n).padStart(2, '0')

export const millis = (instant: bigint): number => Number(instant / 1_000_000n)

export function clockTime(instant: bigint): string {
  const d = new Date(millis(instant))
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, '0')}`
}

export function date(instant: bigint): string {
  const d = new Date(millis(instant))
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`
}

export const dateTime = (instant: bigint): string => `${date(instant)} ${clockTime(instant)}`

// Full precision, for tooltips and copying: RFC 3339 in UTC with nine decimals.
export function exactInstant(instant: bigint): string {
  let seconds = instant / 1_000_000_000n
  let rest = instant % 1_000_000_000n
  if (rest < 0n) {
    rest += 1_000_000_000n
    seconds -= 1n
  }
  const iso = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  return `${iso}.${rest.toString().padStart(9, '0')}Z`
}

export const instantTitle = (instant: bigint): string => `${exactInstant(instant)} · ${instant} ns`

const DURATION = /^(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s|m|h|d)$/
const SIZES: Record<string, number> = {
  ns: 1, us: 1e3, 'µs': 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9, d: 86400e9,
}

// "250ms" → 250000000; null if it is not a duration as the command line accepts it.
export function parseDuration(text: string): number | null {
  const match = DURATION.exec(text.trim())
  return match ? Math.round(Number(match[1]) * SIZES[match[2]!]!) : null
}
