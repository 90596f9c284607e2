// Inside the client a time is a number of whole nanoseconds since the page's time origin, exact for 104 days. Unix time
// in ns does not fit a number, so it is a BigInt and made only when an event is written.

export type Nanos = number

export const MS = 1e6

// From the milliseconds of performance.now() and of performance entries.
export const fromMs = (ms: number): Nanos => Math.round(ms * MS)

let last: Nanos = 0

// Browsers round performance.now() (to 5 µs, 100 µs, even 1 ms), but times order the events of a unit. So each time is at
// least 1 ns after the last, which is far below the rounding.
export function now(): Nanos {
  const read = fromMs(performance.now())
  return (last = read > last ? read : last + 1)
}

// The page's time origin as Unix ns. In some browsers performance.now() stops while a laptop sleeps, and it does not follow
// a clock that was set. So each trace determines the origin once at its start, from the wall clock if both differ by more
// than a second; a smaller difference may be rounding.
export function originNow(): bigint {
  const wall = Date.now() - performance.now()
  const origin = Math.abs(wall - performance.timeOrigin) > 1000 ? wall : performance.timeOrigin
  // A number holds µs exactly (1.8e15 < 2^53), not ns.
  return BigInt(Math.round(origin * 1000)) * 1000n
}

export const toUnix = (origin: bigint, at: Nanos): string => String(origin + BigInt(at))
