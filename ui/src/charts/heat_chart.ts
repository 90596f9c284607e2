import type { Rows } from '../api/datasets'
import { joinConditions, quoteKey } from '../data/condition_language'
import type { ChartQuery } from '../data/chart_query'
import { formatNumber, formatTick, INSTANT, numberOf } from '../data/values'
import { FONT, timeTicks } from '../parts/axis'
import { clockTime, count, date, grouped } from '../parts/format'
import { clear, paintSelection, type ChartModel, type Layout, type Mark } from './layout'
import { binOf, makeBins } from './value_bins'

// How often each value occurred, over time. Both the size and the shade of a square show the count, so the chart can be
// read without colour.

const MARGIN = { left: 72, right: 12, top: 8, bottom: 24 }

export function heatChart(rows: Rows, q: ChartQuery): ChartModel {
  const times: bigint[] = []
  const values: number[] = []
  for (const row of rows.rows) {
    const value = numberOf(row[1] ?? null)
    if (value === null || row[0] === null) continue
    times.push(BigInt(row[0] as bigint))
    values.push(value)
  }
  const key = quoteKey(q.metric)
  const bins = makeBins(values, 24, q.linear)
  let fromNs = times[0] ?? 0n
  let toNs = fromNs
  for (const t of times) {
    if (t < fromNs) fromNs = t
    if (t > toNs) toNs = t
  }
  toNs += 1n
  const notes = rows.more ? [`Drawn from the newest ${grouped(rows.rows.length)} rows.`] : []

  const layout = (width: number): Layout => {
    const height = width < 500 ? 260 : 320
    const plot = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom }
    const columns = Math.max(8, Math.min(72, Math.floor((plot.right - plot.left) / 16)))
    const stepNs = (toNs - fromNs + BigInt(columns) - 1n) / BigInt(columns) || 1n
    const levels = bins.bounds.length - 1
    const counts = new Uint32Array(columns * levels)
    let maxCount = 1
    for (let i = 0; i < values.length; i++) {
      const c = Math.min(columns - 1, Number((times[i]! - fromNs) / stepNs))
      const n = ++counts[c * levels + binOf(bins, values[i]!)]!
      if (n > maxCount) maxCount = n
    }
    const w = (plot.right - plot.left) / columns
    const h = (plot.bottom - plot.top) / levels
    const marks: Mark[] = []
    for (let c = 0; c < columns; c++) {
      for (let l = 0; l < levels; l++) {
        const n = counts[c * levels + l]!
        if (n === 0) continue
        const t0 = fromNs + BigInt(c) * stepNs
        const low = bins.bounds[l]!
        const high = bins.bounds[l + 1]!
        marks.push({
          x0: plot.left + c * w, x1: plot.left + (c + 1) * w, y0: plot.bottom - (l + 1) * h, y1: plot.bottom - l * h,
          title: count(n, 'row'),
          lines: [[q.metric, `${formatNumber(q.metric, low)} – ${formatNumber(q.metric, high)}`], ['from', `${date(t0)} ${clockTime(t0)}`]],
          where: joinConditions(`${INSTANT} >= ${t0} and ${INSTANT} < ${t0 + stepNs}`, `${key} >= ${low} and ${key} < ${high}`),
        })
      }
    }
    const ms = (t: bigint) => Number(t / 1000n) / 1000
    const column = (px: number) => Math.max(0, Math.min(columns, Math.round((px - plot.left) / w)))
    const level = (py: number) => Math.max(0, Math.min(levels, Math.round((plot.bottom - py) / h)))
    const self: Layout = {
      width, height, marks, reach: 0, brush: 'xy', plot,
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        ctx.font = FONT
        ctx.textBaseline = 'middle'
        ctx.textAlign = 'right'
        const every = Math.max(1, Math.round(levels / 6))
        for (let l = 0; l <= levels; l += every) {
          const y = Math.round(plot.bottom - l * h)
          ctx.fillStyle = colours.faint
          ctx.fillRect(plot.left, y, plot.right - plot.left, 1)
          ctx.fillStyle = colours.muted
          ctx.fillText(formatTick(q.metric, bins.bounds[l]!), plot.left - 8, Math.max(y, 8))
        }
        ctx.textAlign = 'center'
        for (const { ms: at, label } of timeTicks(ms(fromNs), ms(toNs), width / 110)) {
          const x = plot.left + ((at - ms(fromNs)) / (ms(toNs) - ms(fromNs) || 1)) * (plot.right - plot.left)
          if (x < plot.left + 16 || x > plot.right - 16) continue
          ctx.fillStyle = colours.muted
          ctx.fillText(label, x, height - MARGIN.bottom / 2)
        }
        ctx.textAlign = 'left'
        paintSelection(ctx, state.selection, colours)
        ctx.fillStyle = colours.accent
        let i = 0
        for (let c = 0; c < columns; c++) {
          for (let l = 0; l < levels; l++) {
            const n = counts[c * levels + l]!
            if (n === 0) continue
            const m = marks[i++]!
            const share = Math.log1p(n) / Math.log1p(maxCount)
            const sw = Math.max(2, (w - 1) * (0.3 + 0.7 * Math.sqrt(share)))
            const sh = Math.max(2, (h - 1) * (0.3 + 0.7 * Math.sqrt(share)))
            ctx.globalAlpha = 0.3 + 0.7 * share
            ctx.fillRect((m.x0 + m.x1 - sw) / 2, (m.y0 + m.y1 - sh) / 2, sw, sh)
          }
        }
        ctx.globalAlpha = 1
        const at = marks[state.hovered] ?? marks.find((m) => m.where === state.chosen)
        if (at) {
          ctx.strokeStyle = colours.text
          ctx.strokeRect(at.x0 + 0.5, at.y0 + 0.5, at.x1 - at.x0 - 1, at.y1 - at.y0 - 1)
        }
      },
      // A selection snaps to cells, so its condition selects exactly what is drawn inside it.
      selectionToText: (s) => {
        const c0 = column(s.x0)
        const c1 = Math.max(c0 + 1, column(s.x1))
        const l0 = Math.min(levels - 1, level(s.y1))
        const l1 = Math.max(l0 + 1, level(s.y0))
        return `${fromNs + BigInt(c0) * stepNs}-${fromNs + BigInt(c1) * stepNs},${bins.bounds[l0]}..${bins.bounds[l1]}`
      },
      selectionFromText: (text) => {
        const match = /^(\d+)-(\d+),(-?[\d.e+-]+)\.\.(-?[\d.e+-]+)$/.exec(text)
        if (!match) return null
        const x = (t: string) => plot.left + (Number(BigInt(t) - fromNs) / Number(toNs - fromNs || 1n)) * (plot.right - plot.left)
        const place = (v: number) => {
          const l = bins.bounds.findIndex((b) => b >= v)
          return plot.bottom - (l < 0 ? levels : l) * h
        }
        return { x0: x(match[1]!), x1: Math.min(plot.right, x(match[2]!)), y0: place(Number(match[4])), y1: place(Number(match[3])) }
      },
    }
    return self
  }
  const sorted = Float64Array.from(values).sort()
  const at = (p: number) => sorted[Math.min(sorted.length - 1, Math.ceil(p * sorted.length) - 1)] ?? 0
  return {
    sentence: values.length === 0 ? `No values of ${q.metric}` : `${q.metric}: p50 ${formatNumber(q.metric, at(0.5))} · p99 ${formatNumber(q.metric, at(0.99))} (${count(values.length, 'row')})`,
    notes: [...notes, 'Drag over a region to see what is different there.'],
    layout,
  }
}

// The condition of a selection in the URL, from a heat map or from a series (which has no range of values).
export function selectionCondition(text: string, metric: string): string | null {
  const match = /^(\d+)-(\d+)(?:,(-?[\d.e+-]+)\.\.(-?[\d.e+-]+))?$/.exec(text)
  if (!match) return null
  const time = `${INSTANT} >= ${match[1]} and ${INSTANT} < ${match[2]}`
  const key = quoteKey(metric)
  return match[3] === undefined ? time : joinConditions(time, `${key} >= ${match[3]} and ${key} < ${match[4]}`)
}
