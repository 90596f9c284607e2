import type { Rows } from '../api/datasets'
import { quoteKey } from '../data/condition_language'
import { PERCENTILES, type ChartQuery } from '../data/chart_query'
import { formatNumber, formatTick, numberOf } from '../data/values'
import { FONT, linearTicks } from '../parts/axis'
import { count, grouped, percent } from '../parts/format'
import { clear, type ChartModel, type Layout, type Mark } from './layout'
import { binOf, makeBins } from './value_bins'

// How often each value occurs, with the percentiles of all rows marked.

const MARGIN = { left: 60, right: 16, top: 26, bottom: 24 }
const MARKED = ['p50', 'p95', 'p99']

export function distributionChart(rows: Rows, percentiles: Rows, q: ChartQuery): ChartModel {
  const values = rows.rows.flatMap((row) => numberOf(row[1] ?? null) ?? [])
  const bins = makeBins(values, 48, q.linear)
  const n = bins.bounds.length - 1
  const counts = new Uint32Array(n)
  for (const v of values) counts[binOf(bins, v)]!++
  const maxCount = counts.reduce((m, c) => Math.max(m, c), 1)
  const key = quoteKey(q.metric)
  const facts = new Map<string, number>()
  PERCENTILES.forEach((p) => {
    const at = percentiles.columns.findIndex((c) => c.name === `${p}(${q.metric})`)
    const value = at < 0 ? null : numberOf(percentiles.rows[0]?.[at] ?? null)
    if (value !== null) facts.set(p, value)
  })
  const total = numberOf(percentiles.rows[0]?.[percentiles.columns.findIndex((c) => c.name === 'count')] ?? null) ?? values.length

  const layout = (width: number): Layout => {
    const height = width < 500 ? 240 : 300
    const plot = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom }
    const w = (plot.right - plot.left) / n
    // Bins are equally wide on screen, whatever their bounds are.
    const x = (v: number) => {
      const i = binOf(bins, v)
      const low = bins.bounds[i]!
      const high = bins.bounds[i + 1]!
      return plot.left + (i + Math.max(0, Math.min(1, (v - low) / (high - low)))) * w
    }
    const y = (c: number) => plot.bottom - (c / maxCount) * (plot.bottom - plot.top)
    const marks: Mark[] = []
    for (let i = 0; i < n; i++) {
      const low = bins.bounds[i]!
      const high = bins.bounds[i + 1]!
      if (counts[i] === 0) continue
      marks.push({
        x0: plot.left + i * w, x1: plot.left + (i + 1) * w, y0: plot.top, y1: plot.bottom, title: count(counts[i]!, 'row'),
        lines: [[q.metric, `${formatNumber(q.metric, low)} – ${formatNumber(q.metric, high)}`], ['share', percent(counts[i]!, values.length)]],
        where: `${key} >= ${low} and ${key} < ${high}`,
      })
    }
    const self: Layout = {
      width, height, marks, reach: 0, brush: null, plot,
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        ctx.font = FONT
        ctx.textBaseline = 'middle'
        ctx.textAlign = 'right'
        for (const c of linearTicks(0, maxCount, 4)) {
          ctx.fillStyle = colours.faint
          ctx.fillRect(plot.left, Math.round(y(c)), plot.right - plot.left, 1)
          ctx.fillStyle = colours.muted
          ctx.fillText(grouped(c), plot.left - 8, y(c))
        }
        const at = marks[state.hovered] ?? marks.find((m) => m.where === state.chosen)
        if (at) {
          ctx.fillStyle = colours.accentSoft
          ctx.fillRect(at.x0, at.y0, at.x1 - at.x0, at.y1 - at.y0)
        }
        ctx.fillStyle = colours.accent
        for (let i = 0; i < n; i++) if (counts[i]! > 0) ctx.fillRect(plot.left + i * w + 0.5, y(counts[i]!), Math.max(1, w - 1), Math.max(1, plot.bottom - y(counts[i]!)))
        ctx.textAlign = 'center'
        const every = Math.max(1, Math.ceil(70 / w))
        ctx.fillStyle = colours.muted
        for (let i = 0; i <= n; i += every) {
          const px = plot.left + i * w
          if (px < plot.right - 24) ctx.fillText(formatTick(q.metric, bins.bounds[i]!), Math.max(px, plot.left + 12), height - MARGIN.bottom / 2)
        }
        let busy = -Infinity
        for (const p of MARKED) {
          const v = facts.get(p)
          if (v === undefined) continue
          const px = Math.round(x(v))
          ctx.fillStyle = colours.text
          for (let dash = plot.top; dash < plot.bottom; dash += 6) ctx.fillRect(px, dash, 1, 3)
          const label = `${p} ${formatNumber(q.metric, v)}`
          const half = ctx.measureText(label).width / 2
          const place = Math.max(plot.left + half, Math.min(px, plot.right - half))
          // A label that would overlap goes one line up.
          const row = place - half < busy ? 8 : 19
          ctx.fillText(label, place, row)
          busy = place + half + 6
        }
        ctx.textAlign = 'left'
        ctx.fillStyle = colours.line
        ctx.fillRect(plot.left, plot.bottom, plot.right - plot.left, 1)
      },
    }
    return self
  }
  const show = (p: string) => formatNumber(q.metric, facts.get(p) ?? 0)
  return {
    sentence: values.length === 0 ? `No values of ${q.metric}` : `${q.metric}: p50 ${show('p50')} · p95 ${show('p95')} · p99 ${show('p99')} (${count(total, 'row')})`,
    notes: rows.more ? [`Bars show the newest ${grouped(rows.rows.length)} rows; percentiles cover all ${grouped(total)}.`] : [],
    layout,
  }
}
