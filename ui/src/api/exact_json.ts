// JSON.parse turns every number into a 64-bit float, which would round Unix nanoseconds (19 digits) by up to 128 ns.
// Integers of 16 digits or more are therefore rewritten as marked strings before parsing, and read back with ns().
// A scanner, not a regular expression: digits inside strings must stay as they are, and a 100,000-span answer
// (about 12 MB) must pass in a few dozen milliseconds.

const MARK = '\u0000'
const MIN_DIGITS = 16

export type ExactInt = number | string

export function parseExact(text: string): unknown {
  return JSON.parse(markLongIntegers(text))
}

// For an answer with large columns of short numbers: scans for long integers only before the key `first` and from the
// key `last` on. Both must be keys of the outermost object.
export function parseExactAround(text: string, first: string, last: string): unknown {
  const from = text.indexOf(`"${first}":`)
  const to = text.lastIndexOf(`"${last}":`)
  if (from < 0 || to < from) return parseExact(text)
  return JSON.parse(markLongIntegers(text.slice(0, from)) + text.slice(from, to) + markLongIntegers(text.slice(to)))
}

function markLongIntegers(text: string): string {
  const pieces: string[] = []
  const n = text.length
  let copied = 0
  let i = 0
  while (i < n) {
    const c = text.charCodeAt(i)
    if (c === 34) {
      i = endOfString(text, i)
    } else if (c === 45 || (c >= 48 && c <= 57)) {
      const start = i
      let integer = true
      for (i++; i < n; i++) {
        const d = text.charCodeAt(i)
        if (d >= 48 && d <= 57) continue
        if (d === 46 || d === 101 || d === 69 || d === 43 || d === 45) integer = false
        else break
      }
      if (integer && i - start - (c === 45 ? 1 : 0) >= MIN_DIGITS) {
        pieces.push(text.slice(copied, start), '"\\u0000', text.slice(start, i), '"')
        copied = i
      }
    } else {
      i++
    }
  }
  if (copied === 0) return text
  pieces.push(text.slice(copied))
  return pieces.join('')
}

function endOfString(text: string, open: number): number {
  let close = open
  for (;;) {
    close = text.indexOf('"', close + 1)
    if (close < 0) return text.length
    let backslashes = 0
    while (text.charCodeAt(close - 1 - backslashes) === 92) backslashes++
    if (backslashes % 2 === 0) return close + 1
  }
}

export function ns(value: ExactInt | null | undefined): bigint {
  if (value === null || value === undefined) return 0n
  if (typeof value === 'number') return BigInt(Math.trunc(value))
  return BigInt(value.startsWith(MARK) ? value.slice(1) : value)
}

// True for an integer that parseExact kept as text; its digits are value.slice(1).
export function isLongInteger(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(MARK)
}

// The inverse for display: typed JSON with every integer exact.
export function showExact(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(/"\\u0000(-?\d+)"/g, '$1')
}
