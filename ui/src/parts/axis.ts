// Ticks at round times and numbers.

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000)

export function timeTicks(fromMs: number, toMs: number, wanted: number): { ms: number; label: string }[] {
  const rough = (toMs - fromMs) / Math.max(2, wanted)
  const step = STEPS.find((s) => s >= rough) ?? Math.ceil(rough / 604_800_000) * 604_800_000
  const zone = new Date(fromMs).getTimezoneOffset() * 60_000
  const out: { ms: number; label: string }[] = []
  for (let ms = Math.ceil((fromMs - zone) / step) * step + zone; ms <= toMs && out.length < 40; ms += step) {
    const d = new Date(ms)
    const two = (n: number) => String(n).padStart(2, '0')
    const label =
      step >= 86_400_000 ? `${two(d.getMonth() + 1)}-${two(d.getDate())}`
      : step >= 60_000 ? `${two(d.getHours())}:${two(d.getMinutes())}`
      : `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
    out.push({ ms, label })
  }
  return out
}

// Round numbers from 0 (or `min`) to `max`.
export function linearTicks(min: number, max: number, wanted: number): number[] {
  if (!(max > min)) return [min]
  const rough = (max - min) / Math.max(1, wanted)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999) ?? rough
  const out: number[] = []
  for (let v = Math.ceil(min / step) * step; v <= max + step * 1e-9 && out.length < 50; v += step) out.push(Number(v.toPrecision(12)))
  return out
}

export function logTicks(min: number, max: number): number[] {
  const out: number[] = []
  const decades = Math.log10(max / min)
  for (let v = 10 ** Math.floor(Math.log10(min)); v <= max; v *= 10) {
    if (v >= min) out.push(v)
    if (decades < 3.2 && v * 3 <= max && v * 3 >= min) out.push(v * 3)
  }
  return out
}
