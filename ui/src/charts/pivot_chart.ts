import type { Cell, Rows } from '../api/datasets'
import { cellCondition, joinConditions } from '../data/condition_language'
import type { ChartQuery } from '../data/chart_query'
import { formatCell, formatNumber, numberOf } from '../data/values'
import { FONT } from '../parts/axis'
import { count, grouped } from '../parts/format'
import { clear, fit, type ChartModel, type Layout, type Mark } from './layout'

// Two columns against each other, with the aggregate in each cell; the shade follows the number.

const ROW = 26
const HEAD = 30
const MAX_ROWS = 60
const MAX_COLUMNS = 24

export function pivotChart(rows: Rows, q: ChartQuery): ChartModel {
  const [down, across] = rows.columns
  const valueName = rows.columns[2]?.name ?? q.agg
  const countAt = rows.columns.findIndex((c) => c.name === 'count')
  const weight = { down: new Map<string, number>(), across: new Map<string, number>() }
  const cells = new Map<string, { value: number; rows: number; down: Cell; across: Cell }>()
  for (const row of rows.rows) {
    const value = numberOf(row[2] ?? null)
    if (value === null || !down || !across) continue
    const d = formatCell(down, row[0] ?? null)
    const a = formatCell(across, row[1] ?? null)
    const n = numberOf(row[countAt] ?? null) ?? 1
    weight.down.set(d, (weight.down.get(d) ?? 0) + n)
    weight.across.set(a, (weight.across.get(a) ?? 0) + n)
    cells.set(`${d}\u0000${a}`, { value, rows: n, down: row[0] ?? null, across: row[1] ?? null })
  }
  const heaviest = (map: Map<string, number>, limit: number) => [...map].sort((x, y) => y[1] - x[1]).slice(0, limit).map(([name]) => name)
  const downs = heaviest(weight.down, MAX_ROWS)
  const acrosses = heaviest(weight.across, MAX_COLUMNS)
  let max = 0
  let largest: { down: string; across: string; value: number } | null = null
  for (const d of downs) for (const a of acrosses) {
    const value = cells.get(`${d}\u0000${a}`)?.value
    if (value !== undefined && (largest === null || value > largest.value)) largest = { down: d, across: a, value }
    max = Math.max(max, Math.abs(value ?? 0))
  }
  const omitted = weight.down.size - downs.length + (weight.across.size - acrosses.length)
  const layout = (outer: number): Layout => {
    const label = Math.min(220, Math.max(100, outer * 0.24))
    const cell = Math.max(84, Math.min(160, (outer - label - 8) / Math.max(1, acrosses.length)))
    const width = Math.max(outer, label + cell * acrosses.length + 8)
    const height = HEAD + downs.length * ROW + 8
    const marks: Mark[] = []
    const values: number[] = []
    downs.forEach((d, r) =>
      acrosses.forEach((a, c) => {
        const found = cells.get(`${d}\u0000${a}`)
        if (!found || !down || !across) return
        values.push(found.value)
        marks.push({
          x0: label + c * cell, x1: label + (c + 1) * cell, y0: HEAD + r * ROW, y1: HEAD + (r + 1) * ROW, title: `${d} · ${a}`,
          lines: [[valueName, formatNumber(valueName, found.value)], ...(valueName === 'count' ? [] : [['rows', grouped(found.rows)] as [string, string]])],
          where: joinConditions(cellCondition(down, found.down), cellCondition(across, found.across)),
        })
      }),
    )
    const self: Layout = {
      width, height, marks, reach: 0, brush: null, plot: { left: label, right: width - 8, top: HEAD, bottom: height - 8 },
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        ctx.font = FONT
        ctx.textBaseline = 'middle'
        ctx.fillStyle = colours.muted
        ctx.textAlign = 'right'
        acrosses.forEach((a, c) => ctx.fillText(fit(ctx, a, cell - 12), label + (c + 1) * cell - 8, HEAD / 2))
        ctx.textAlign = 'left'
        downs.forEach((d, r) => {
          ctx.fillStyle = colours.text
          ctx.fillText(fit(ctx, d, label - 20), 12, HEAD + r * ROW + ROW / 2)
          ctx.fillStyle = colours.faint
          ctx.fillRect(8, HEAD + (r + 1) * ROW - 1, width - 16, 1)
        })
        ctx.textAlign = 'right'
        marks.forEach((m, i) => {
          ctx.fillStyle = colours.accentSoft
          ctx.globalAlpha = max === 0 ? 0 : Math.abs(values[i]!) / max
          ctx.fillRect(m.x0 + 1, m.y0 + 1, m.x1 - m.x0 - 2, m.y1 - m.y0 - 2)
          ctx.globalAlpha = 1
          ctx.fillStyle = colours.text
          ctx.fillText(m.lines[0]![1], m.x1 - 8, (m.y0 + m.y1) / 2)
          if (i === state.hovered || m.where === state.chosen) {
            ctx.strokeStyle = colours.accent
            ctx.strokeRect(m.x0 + 1.5, m.y0 + 1.5, m.x1 - m.x0 - 3, m.y1 - m.y0 - 3)
          }
        })
        ctx.textAlign = 'left'
      },
    }
    return self
  }
  return {
    sentence: largest ? `${valueName} by ${q.groupBy.join(' and ')}: max ${formatNumber(valueName, largest.value)}, for ${largest.down} with ${largest.across}` : `No values of ${valueName}`,
    notes: omitted > 0 ? [`${count(omitted, 'smaller value')} in the table only.`] : [],
    layout,
  }
}
