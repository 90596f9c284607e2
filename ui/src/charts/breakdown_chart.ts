import type { Rows } from '../api/datasets'
import { cellCondition, joinConditions } from '../data/condition_language'
import type { ChartQuery } from '../data/chart_query'
import { formatCell, formatNumber, numberOf } from '../data/values'
import { FONT } from '../parts/axis'
import { count, grouped } from '../parts/format'
import { clear, fit, type ChartModel, type Layout, type Mark } from './layout'

// One bar per group with its value, largest first.

const BAR = 22
const SHOWN = 40

export function breakdownChart(rows: Rows, q: ChartQuery): ChartModel {
  const keys = q.groupBy.length
  const valueName = rows.columns[keys]?.name ?? q.agg
  const lowAt = rows.columns.findIndex((c) => c.name === `${valueName}_low`)
  const countAt = rows.columns.findIndex((c) => c.name === 'count')
  const groups = rows.rows.flatMap((row) => {
    const value = numberOf(row[keys] ?? null)
    if (value === null) return []
    const cells = rows.columns.slice(0, keys)
    return [{
      name: cells.map((c, i) => formatCell(c, row[i] ?? null)).join(' · ') || q.agg,
      where: joinConditions(...cells.map((c, i) => cellCondition(c, row[i] ?? null))),
      value,
      rows: numberOf(row[countAt] ?? null) ?? 0,
      low: lowAt < 0 ? null : numberOf(row[lowAt] ?? null),
      high: lowAt < 0 ? null : numberOf(row[lowAt + 1] ?? null),
    }]
  })
  groups.sort((a, b) => b.value - a.value)
  const shown = groups.slice(0, SHOWN)
  const max = shown.reduce((m, g) => Math.max(m, Math.abs(g.high ?? g.value)), 0) || 1
  const first = groups[0]
  const by = q.groupBy.join(', ')
  const notes = groups.length > SHOWN ? [`${count(groups.length - SHOWN, 'more group')} in the table.`] : []
  if (rows.more) notes.push(`Limited to the first ${grouped(rows.rows.length)} groups.`)

  const layout = (width: number): Layout => {
    const label = Math.min(260, Math.max(90, width * 0.32))
    const space = width - label - 96
    const height = Math.max(80, shown.length * BAR + 12)
    const plot = { left: label, right: label + space, top: 6, bottom: height - 6 }
    const marks: Mark[] = shown.map((g, i) => ({
      x0: 0, x1: width, y0: 6 + i * BAR, y1: 6 + (i + 1) * BAR, title: g.name, where: g.where,
      lines: [[valueName, formatNumber(valueName, g.value)], ...(valueName === 'count' ? [] : [['rows', grouped(g.rows)] as [string, string]]),
        ...(g.low !== null && g.high !== null ? [['95 %', `${formatNumber(valueName, g.low)} – ${formatNumber(valueName, g.high)}`] as [string, string]] : [])],
    }))
    const self: Layout = {
      width, height, marks, reach: 0, brush: null, plot,
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        ctx.font = FONT
        ctx.textBaseline = 'middle'
        shown.forEach((g, i) => {
          const y = 6 + i * BAR
          const active = state.hovered === i || state.chosen === g.where
          if (active) {
            ctx.fillStyle = colours.accentSoft
            ctx.fillRect(0, y, width, BAR)
          }
          const length = Math.max(1, (Math.abs(g.value) / max) * space)
          ctx.fillStyle = colours.accent
          ctx.globalAlpha = active ? 1 : 0.75
          ctx.fillRect(label, y + 4, length, BAR - 8)
          ctx.globalAlpha = 1
          if (g.low !== null && g.high !== null) {
            ctx.fillStyle = colours.text
            ctx.fillRect(label + (g.low / max) * space, y + BAR / 2, Math.max(1, ((g.high - g.low) / max) * space), 1)
          }
          ctx.fillStyle = colours.text
          ctx.textAlign = 'right'
          ctx.fillText(fit(ctx, g.name, label - 18), label - 8, y + BAR / 2)
          ctx.textAlign = 'left'
          ctx.fillText(formatNumber(valueName, g.value), label + length + 6, y + BAR / 2)
        })
      },
    }
    return self
  }
  return {
    sentence: !first ? `No values of ${valueName}` : by ? `${valueName} by ${by}: max ${formatNumber(valueName, first.value)}, for ${first.name} (${count(groups.length, 'group')})` : `${valueName}: ${formatNumber(valueName, first.value)}`,
    notes,
    layout,
  }
}
