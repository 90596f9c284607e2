// Bins of numbers: logarithmic if all are positive and max is more than three times min, else equally wide. If all
// values are integers so are the bounds, so that conditions made from them select exactly what is drawn.

export interface Bins {
  // bounds[i] ≤ value < bounds[i + 1]
  bounds: number[]
  log: boolean
}

export function makeBins(values: number[], wanted: number, linear: boolean): Bins {
  let min = Infinity
  let max = -Infinity
  let whole = true
  for (const v of values) {
    if (v < min) min = v
    if (v > max) max = v
    if (!Number.isInteger(v)) whole = false
  }
  if (values.length === 0) return { bounds: [0, 1], log: false }
  const log = !linear && min > 0 && max / min > 3
  const n = Math.max(1, wanted)
  let bounds: number[]
  if (max === min) bounds = [min, whole ? min + 1 : min + Math.max(Math.abs(min) * 1e-6, 1e-9)]
  else if (log) bounds = Array.from({ length: n + 1 }, (_, i) => min * (max / min) ** (i / n))
  else {
    const rough = (max - min) / n
    const power = 10 ** Math.floor(Math.log10(rough))
    const step = Math.max([1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough, whole ? 1 : 0)
    const first = Math.floor(min / step) * step
    bounds = Array.from({ length: Math.floor((max - first) / step) + 2 }, (_, i) => first + i * step)
  }
  if (whole) bounds = [...new Set(bounds.map((b, i) => (i === 0 ? Math.floor(b) : Math.ceil(b))))]
  // The last bin includes the max.
  const last = bounds.length - 1
  if (bounds[last]! <= max) bounds[last] = whole ? max + 1 : max + Math.max(Math.abs(max) * 1e-9, 1e-12)
  return { bounds, log }
}

export function binOf({ bounds }: Bins, value: number): number {
  let low = 0
  let high = bounds.length - 2
  while (low < high) {
    const mid = (low + high + 1) >> 1
    if (bounds[mid]! <= value) low = mid
    else high = mid - 1
  }
  return low
}
