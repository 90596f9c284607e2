import type { Cell, Rows } from '../api/datasets'
import { cellCondition, joinConditions } from '../data/condition_language'
import type { ChartQuery } from '../data/chart_query'
import { formatCell, formatNumber, formatTick, INSTANT, numberOf } from '../data/values'
import { paletteColour, type CanvasColours } from '../parts/colours'
import { clockTime, count, date, grouped, parseDuration } from '../parts/format'
import { clear, fit, paintSelection, type ChartModel, type Layout, type Mark, type Selection } from './layout'
import { MARGIN, paintTimeAxes, timeScale } from './time_axes'

// An aggregate over time, one line per group. Lines differ by marker as well as by colour.

interface Line {
  name: string
  condition: string
  weight: number
  points: { ms: number; value: number; rows: number; ns: bigint; low: number | null; high: number | null }[]
}

const SHOWN = 8
export const LEGEND_ROW = 18

export function seriesChart(rows: Rows, q: ChartQuery): ChartModel {
  const bucketNs = BigInt(parseDuration(q.bucket) ?? 1)
  const bucketMs = Number(bucketNs) / 1e6
  const time = rows.columns.findIndex((c) => c.name === INSTANT)
  const valueAt = time + 1 + Math.min(1, q.groupBy.length)
  const valueName = rows.columns[valueAt]?.name ?? q.agg
  const countAt = rows.columns.findIndex((c) => c.name === 'count')
  const lowAt = rows.columns.findIndex((c) => c.name === `${valueName}_low`)
  const group = q.groupBy.length > 0 ? rows.columns[time + 1] : undefined
  const additive = /^(count|sum)\b/.test(q.agg)

  const lines = new Map<string, Line>()
  for (const row of rows.rows) {
    const ns = row[time]
    const value = numberOf(row[valueAt] ?? null)
    if (ns === null || ns === undefined || value === null) continue
    const cell: Cell = group ? (row[time + 1] ?? null) : null
    const name = group ? formatCell(group, cell) : q.agg
    let line = lines.get(name)
    if (!line) lines.set(name, (line = { name, condition: group ? cellCondition(group, cell) : '', weight: 0, points: [] }))
    const n = numberOf(row[countAt] ?? null) ?? 0
    line.weight += n
    line.points.push({
      ns: BigInt(ns as bigint), ms: Number(BigInt(ns as bigint) / 1000n) / 1000, value, rows: n,
      low: lowAt < 0 ? null : numberOf(row[lowAt] ?? null), high: lowAt < 0 ? null : numberOf(row[lowAt + 1] ?? null),
    })
  }
  const all = [...lines.values()].sort((a, b) => b.weight - a.weight)
  const shown = all.slice(0, SHOWN)
  let from = Infinity
  let to = -Infinity
  let max = 0
  let min = 0
  for (const line of shown) {
    line.points.sort((a, b) => a.ms - b.ms)
    for (const p of line.points) {
      from = Math.min(from, p.ms)
      to = Math.max(to, p.ms + bucketMs)
      max = Math.max(max, p.high ?? p.value)
      min = Math.min(min, p.low ?? p.value)
    }
  }
  if (max === min) max = min + 1
  const notes = all.length > SHOWN ? [`${count(all.length - SHOWN, 'smaller group')} in the table only.`] : []

  const layout = (width: number): Layout => {
    const legend = group ? legendRows(shown, width) : 0
    const plot = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top + legend * LEGEND_ROW, bottom: 0 }
    const height = (width < 500 ? 220 : 280) + legend * LEGEND_ROW
    plot.bottom = height - MARGIN.bottom
    const { x, y } = timeScale(plot, { from, to, min, max })
    const marks: Mark[] = []
    const places = shown.map((line) =>
      line.points.map((p) => {
        const px = x(p.ms + bucketMs / 2)
        const py = y(p.value)
        const until = p.ns + bucketNs
        marks.push({
          x0: px, x1: px, y0: py, y1: py, title: line.name,
          lines: [[valueName, formatNumber(valueName, p.value)], ...(valueName === 'count' ? [] : [['rows', grouped(p.rows)] as [string, string]]), ['from', `${date(p.ns)} ${clockTime(p.ns)}`], ['for', q.bucket],
            ...(p.low !== null && p.high !== null ? [['95 %', `${formatNumber(valueName, p.low)} – ${formatNumber(valueName, p.high)}`] as [string, string]] : [])],
          where: joinConditions(line.condition, `${INSTANT} >= ${p.ns} and ${INSTANT} < ${until}`),
        })
        return { px, py, low: p.low === null ? null : y(p.low), high: p.high === null ? null : y(p.high), ms: p.ms }
      }),
    )
    const nsAt = (px: number) => BigInt(Math.round((from + ((px - plot.left) / (plot.right - plot.left)) * (to - from)) * 1000)) * 1000n
    const self: Layout = {
      width, height, marks, reach: 22, brush: 'x', plot,
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        paintTimeAxes(ctx, self, { from, to, min, max, tick: (v) => formatTick(valueName, v) }, colours)
        paintSelection(ctx, state.selection, colours)
        places.forEach((line, i) => {
          const colour = paletteColour(i, colours.theme)
          ctx.strokeStyle = colour
          ctx.fillStyle = colour
          ctx.lineWidth = 1.5
          ctx.beginPath()
          line.forEach((p, k) => {
            // A missing bucket is a gap in the line, except that a missing count or sum is 0.
            const gap = k === 0 || p.ms - line[k - 1]!.ms > bucketMs * 1.5
            if (gap && additive && k > 0) {
              ctx.lineTo(x(line[k - 1]!.ms + bucketMs * 1.5), y(0))
              ctx.lineTo(x(p.ms - bucketMs / 2), y(0))
              ctx.lineTo(p.px, p.py)
            } else if (gap) ctx.moveTo(p.px, p.py)
            else ctx.lineTo(p.px, p.py)
          })
          ctx.stroke()
          ctx.lineWidth = 1
          for (const p of line) {
            if (p.low !== null && p.high !== null) ctx.fillRect(Math.round(p.px), p.high, 1, Math.max(1, p.low - p.high))
            paintMarker(ctx, i, p.px, p.py, line.length > 80 ? 2 : 3)
          }
        })
        const at = marks[state.hovered] ?? marks.find((m) => m.where === state.chosen)
        if (at) {
          ctx.strokeStyle = colours.text
          ctx.beginPath()
          ctx.arc(at.x0, at.y0, 7, 0, 7)
          ctx.stroke()
        }
        if (legend > 0) paintLegend(ctx, shown, width, colours)
      },
      selectionToText: (s) => `${nsAt(s.x0)}-${nsAt(s.x1)}`,
      selectionFromText: (text): Selection | null => {
        const match = /^(\d+)-(\d+)$/.exec(text)
        return match ? { x0: x(Number(BigInt(match[1]!) / 1000n) / 1000), x1: x(Number(BigInt(match[2]!) / 1000n) / 1000), y0: plot.top, y1: plot.bottom } : null
      },
    }
    return self
  }
  return { sentence: sentenceOf(shown, all.length, valueName, group?.name ?? null), notes, layout }
}

function sentenceOf(lines: Line[], groups: number, value: string, by: string | null): string {
  if (lines.length === 0) return `No values of ${value}`
  if (!by) {
    const points = lines[0]!.points
    const peak = points.reduce((a, b) => (b.value > a.value ? b : a))
    const last = points.at(-1)!
    return `${value}: last ${formatNumber(value, last.value)}, max ${formatNumber(value, peak.value)} at ${clockTime(peak.ns).slice(0, 8)}`
  }
  let peakLine = lines[0]!
  let peak = peakLine.points[0]!
  for (const line of lines) for (const p of line.points) if (p.value > peak.value) [peakLine, peak] = [line, p]
  return `${value} by ${by}: max ${formatNumber(value, peak.value)}, for ${peakLine.name} at ${clockTime(peak.ns).slice(0, 8)} (${count(groups, 'group')})`
}

// Disc, square, triangle, diamond, then the same outlined.
export function paintMarker(ctx: CanvasRenderingContext2D, i: number, x: number, y: number, r: number): void {
  ctx.beginPath()
  const shape = i % 4
  if (shape === 0) ctx.arc(x, y, r, 0, 7)
  else if (shape === 1) ctx.rect(x - r, y - r, 2 * r, 2 * r)
  else if (shape === 2) ctx.moveTo(x, y - r - 1), ctx.lineTo(x + r + 1, y + r), ctx.lineTo(x - r - 1, y + r), ctx.closePath()
  else ctx.moveTo(x, y - r - 1), ctx.lineTo(x + r + 1, y), ctx.lineTo(x, y + r + 1), ctx.lineTo(x - r - 1, y), ctx.closePath()
  if (i % 8 < 4) ctx.fill()
  else ctx.stroke()
}

const perRow = (width: number) => Math.max(1, Math.floor((width - MARGIN.left) / (width < 500 ? 96 : 150)))
export const legendRows = (lines: { name: string }[], width: number) => Math.ceil(lines.length / perRow(width))

export function paintLegend(ctx: CanvasRenderingContext2D, lines: { name: string }[], width: number, colours: CanvasColours) {
  const columns = perRow(width)
  const cell = (width - MARGIN.left - MARGIN.right) / columns
  lines.forEach((line, i) => {
    const x = MARGIN.left + (i % columns) * cell
    const y = MARGIN.top + Math.floor(i / columns) * LEGEND_ROW + 2
    ctx.fillStyle = ctx.strokeStyle = paletteColour(i, colours.theme)
    paintMarker(ctx, i, x + 5, y, 3.5)
    ctx.fillStyle = colours.text
    ctx.fillText(fit(ctx, line.name, cell - 22), x + 14, y)
  })
}
