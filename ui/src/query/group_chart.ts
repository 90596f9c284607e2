import { clear, paintSelection, type ChartModel, type Layout, type Mark } from '../charts/layout'
import { LEGEND_ROW, legendRows, paintLegend, paintMarker } from '../charts/series_chart'
import { MARGIN, paintTimeAxes, timeScale } from '../charts/time_axes'
import { paletteColour } from '../parts/colours'
import { clockTime, count, date } from '../parts/format'
import { addsUp, seriesOf, totalOf, valueText, type Group, type Results } from './query_results'
import { show, type Unit } from './units'

// One value over time, one line per group, or per value of one key where values add up.

export interface Line {
  name: string
  groups: Group[]
  points: { ms: number; ns: bigint; value: number }[]
}

const SHOWN = 8

// One line per group, or per value of the key `by`.
export function groupLines(results: Results, value: number, by: number | null): Line[] {
  const bundles = new Map<string, Group[]>()
  for (const g of results.groups) {
    const name = (by === null ? g.keys.map(valueText) : [valueText(g.keys[by]!)]).join(' · ') || results.values[value]!.name
    bundles.set(name, [...(bundles.get(name) ?? []), g])
  }
  const weight = (groups: Group[]) => totalOf(results, groups, value) ?? 0
  const ordered = [...bundles].sort((a, b) => weight(b[1]) - weight(a[1]))
  const zero = results.values[value]!.merge === 'sum'
  return ordered.map(([name, groups]) => {
    const series = seriesOf(results, groups, value)
    // An interval without rows is 0 for a sum but missing for an average. Before the first value there is nothing.
    const first = series.findIndex((v) => v !== null)
    return {
      name, groups,
      points: series.flatMap((v, i) => {
        const ns = results.points[i]!.ns
        return v === null && (!zero || i < first) ? [] : [{ ns, ms: Number(ns / 1000n) / 1000, value: v ?? 0 }]
      }),
    }
  })
}

export function groupChart(results: Results, value: number, by: number | null, unit: Unit): ChartModel {
  const all = groupLines(results, value, by)
  const lines = all.slice(0, SHOWN)
  const name = results.values[value]!.name
  const bucketMs = Number(results.bucketNs) / 1e6
  let from = Infinity
  let to = -Infinity
  let min = 0
  let max = 0
  for (const p of results.points) {
    const ms = Number(p.ns / 1000n) / 1000
    from = Math.min(from, ms)
    to = Math.max(to, ms + bucketMs)
  }
  for (const line of lines) {
    for (const p of line.points) {
      min = Math.min(min, p.value)
      max = Math.max(max, p.value)
    }
  }
  if (max === min) max = min + 1
  const layout = (width: number): Layout => {
    const legend = legendRows(lines, width)
    const height = (width < 500 ? 220 : 260) + legend * LEGEND_ROW
    const plot = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top + legend * LEGEND_ROW, bottom: height - MARGIN.bottom }
    const { x, y } = timeScale(plot, { from, to, min, max })
    const marks: Mark[] = []
    const places = lines.map((line) => line.points.map((p) => {
      const px = x(p.ms + bucketMs / 2)
      const py = y(p.value)
      marks.push({ x0: px, x1: px, y0: py, y1: py, title: line.name, lines: [[name, show(unit, p.value)], ['from', `${date(p.ns)} ${clockTime(p.ns)}`]], where: line.groups.length === 1 ? line.groups[0]!.id : '' })
      return { px, py, ms: p.ms }
    }))
    const self: Layout = {
      width, height, marks, reach: 22, brush: null, plot,
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        paintTimeAxes(ctx, self, { from, to, min, max, tick: (v) => show(unit, v) }, colours)
        paintSelection(ctx, state.selection, colours)
        places.forEach((line, i) => {
          ctx.strokeStyle = ctx.fillStyle = paletteColour(i, colours.theme)
          ctx.lineWidth = 1.5
          ctx.beginPath()
          line.forEach((p, k) => (k === 0 || p.ms - line[k - 1]!.ms > bucketMs * 1.5 ? ctx.moveTo(p.px, p.py) : ctx.lineTo(p.px, p.py)))
          ctx.stroke()
          ctx.lineWidth = 1
          // Markers distinguish lines without colour; at most about 40 per line.
          const each = Math.max(1, Math.ceil(line.length / 40))
          line.forEach((p, k) => (k % each === 0 || k === line.length - 1) && paintMarker(ctx, i, p.px, p.py, 3))
        })
        const at = marks[state.hovered]
        if (at) {
          ctx.strokeStyle = colours.text
          ctx.beginPath()
          ctx.arc(at.x0, at.y0, 7, 0, 7)
          ctx.stroke()
        }
        if (legend > 0) paintLegend(ctx, lines, width, colours)
      },
    }
    return self
  }
  return { sentence: sentence(results, value, unit), notes: all.length > SHOWN ? [`${count(all.length - SHOWN, 'smaller group')} in the table only.`] : [], layout }
}

// The sentence for the heading: the group with the largest value.
export function sentence(results: Results, value: number, unit: Unit): string {
  const item = results.values[value]!
  const groups = results.groups.filter((g) => g.totals[value] !== null)
  if (groups.length === 0) return `No values of ${item.name} yet`
  if (results.keys.length === 0) return `${item.name} is ${show(unit, groups[0]!.totals[value]!)}`
  const lines = groupLines(results, value, addsUp(item) ? 0 : null)
  const first = lines[0]!
  const most = totalOf(results, first.groups, value)!
  if (item.merge === 'sum') {
    const all = totalOf(results, groups, value)!
    if (lines.length === 1) return `${first.name} has all of ${item.name}: ${show(unit, all)}`
    const second = lines[1]!
    if (totalOf(results, second.groups, value) === most) return `${first.name} and ${second.name} have most of ${item.name}: ${show(unit, most)} each of ${show(unit, all)}`
    return `${first.name} has most of ${item.name}: ${show(unit, most)} of ${show(unit, all)}${all > 0 ? ` (${Math.round((100 * most) / all)} %)` : ''}`
  }
  const last = lines.at(-1)!
  if (lines.length === 1) return `${item.name} of ${first.name} is ${show(unit, most)}`
  return `${item.name} is highest for ${first.name}: ${show(unit, most)}; lowest for ${last.name}: ${show(unit, totalOf(results, last.groups, value))}`
}
