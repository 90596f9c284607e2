import type { Bin } from '../api/paths'
import { linearTicks } from '../parts/axis'
import { duration, grouped } from '../parts/format'
import { binQuantile } from './patterns_model'

const SIZE = { width: 336, height: 84, foot: 16 }

interface Props {
  title: string
  bins: Bin[]
  usualBins: Bin[] | null
  mean: number
  usualMean: number | null
  colour: string
}

// The distribution of one delay, with the usual one dashed. Both have the area 1.
export function DelayChart({ title, bins, usualBins, mean, usualMean, colour }: Props) {
  if (bins.length === 0) return null
  const density = (list: Bin[]) => {
    const total = list.reduce((s, b) => s + b[2], 0)
    return list.map(([from, until, n]) => n / total / Math.max(1, until - from))
  }
  const own = density(bins)
  const usualDensity = usualBins && usualBins.length > 0 ? density(usualBins) : null
  const all = [...bins, ...(usualBins ?? [])]
  const low = Math.min(...all.map((b) => b[0]))
  const high = Math.max(...all.map((b) => b[1]))
  const room = Math.max(high - low, high * 0.05, 1)
  const from = Math.max(0, low - room * 0.06)
  const until = high + room * 0.06
  const top = Math.max(...own, ...(usualDensity ?? []))
  const x = (t: number) => ((t - from) / (until - from)) * SIZE.width
  const y = (d: number) => SIZE.height - SIZE.foot - (SIZE.height - SIZE.foot - 6) * (d / top)
  const ground = SIZE.height - SIZE.foot
  const outline = (list: Bin[], heights: number[]) => list.map(([a, b], i) => `M${x(a).toFixed(1)} ${ground}V${y(heights[i]!).toFixed(1)}H${Math.max(x(b), x(a) + 1).toFixed(1)}V${ground}`).join('')
  const p50 = binQuantile(bins, 0.5)
  const p99 = binQuantile(bins, 0.99)
  const label = `${title}: mean ${duration(mean)}, p50 ${duration(p50)}, p99 ${duration(p99)}`
  return (
    <figure className="delay-chart">
      <figcaption><strong>{title}</strong> <span className="num">mean {duration(mean)}</span> <span className="muted num">p50 {duration(p50)} · p99 {duration(p99)}{usualMean !== null && ` · usual mean ${duration(usualMean)}`}</span></figcaption>
      <svg viewBox={`0 0 ${SIZE.width} ${SIZE.height}`} role="img" aria-label={label}>
        <path d={`M0 ${ground + 0.5}H${SIZE.width}`} className="delay-axis" />
        <path d={outline(bins, own)} style={{ fill: colour, stroke: colour }} className="delay-bars" />
        {usualDensity && <path d={outline(usualBins!, usualDensity)} className="delay-usual" />}
        <path d={`M${x(mean).toFixed(1)} 2V${ground}`} className="delay-mean" />
        {linearTicks(from, until, 3).map((t) => (
          <text key={t} x={Math.min(Math.max(x(t), 14), SIZE.width - 20)} y={SIZE.height - 3} textAnchor="middle">{t === 0 ? '0' : duration(t)}</text>
        ))}
        {bins.map(([a, b, n]) => <rect key={a} x={x(a)} y="0" width={Math.max(1, x(b) - x(a))} height={ground} className="delay-hit"><title>{`${duration(a)} to ${duration(b)}: ${grouped(n)}`}</title></rect>)}
      </svg>
    </figure>
  )
}
