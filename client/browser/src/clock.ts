// Times. Inside the client a time is a number: whole nanoseconds since the page's time origin, exact in a double for
// 104 days. Only when an event is written does it become Unix time, which does not fit a double, so there it is a
// BigInt.

export type Nanos = number

export const MS = 1e6

// From the milliseconds of performance.now() and of performance entries.
export const fromMs = (ms: number): Nanos => Math.round(ms * MS)

let last: Nanos = 0

// Browsers round performance.now() (to 5 µs, 100 µs, even 1 ms), and the order of two events of one unit is told by
// their times. So times taken here never repeat: a nanosecond more is far below what the browser rounds away.
export function now(): Nanos {
  const read = fromMs(performance.now())
  return (last = read > last ? read : last + 1)
}

// The page's time origin as Unix ns. performance.now() stands still while a laptop sleeps, in some browsers, and does
// not follow a clock that was set; the wall clock does. A trace that starts hours after the page takes its origin
// anew, once, so that times within it stay comparable. What is below a second may be rounding, and is left alone.
export function originNow(): bigint {
  const wall = Date.now() - performance.now()
  const origin = Math.abs(wall - performance.timeOrigin) > 1000 ? wall : performance.timeOrigin
  // A double holds µs exactly (1.8e15 < 2^53), not ns.
  return BigInt(Math.round(origin * 1000)) * 1000n
}

export const toUnix = (origin: bigint, at: Nanos): string => String(origin + BigInt(at))
