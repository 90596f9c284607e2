import { clear, fit, type ChartModel, type Layout, type Mark } from '../charts/layout'
import { cellCondition, joinConditions } from '../data/condition_language'
import { FONT } from '../parts/axis'
import { serviceColour } from '../parts/colours'
import { count, duration, grouped, percent } from '../parts/format'
import { OUTSIDE, type Edge, type Graph, type Node } from './service_graph'

// Boxes are services, arrows are calls. The width of an arrow follows the logarithm of its calls; it is dashed if some
// failed. Its label shows rate, p95 and errors.

const BOX = { width: 150, height: 44 }
const GAP = { x: 170, y: 26 }

const TEXT = { name: '', type: 'text' } as const

export function edgeCondition(e: Edge): string {
  return joinConditions(cellCondition({ ...TEXT, name: 'caller' }, e.from || null), cellCondition({ ...TEXT, name: 'service' }, e.to || null))
}

export const rate = (calls: number, seconds: number): string => {
  const value = calls / seconds
  return value >= 1 ? `${Number(value.toPrecision(3))}/s` : value * 60 >= 1 ? `${Number((value * 60).toPrecision(3))}/min` : `${Number((value * 3600).toPrecision(3))}/h`
}

export function edgeFacts(e: Edge, seconds: number): [string, string][] {
  return [
    ['rate', `${rate(e.calls, seconds)} (${count(e.calls, 'call')})`],
    ['errors', e.errors > 0 ? `${grouped(e.errors)} (${percent(e.errors, e.calls)})` : 'none'],
    ['p50', e.p50 === null ? '–' : duration(e.p50)],
    ['p95', e.p95 === null ? '–' : duration(e.p95)],
  ]
}

export function mapChart(graph: Graph, seconds: number): ChartModel {
  const layout = (outer: number): Layout => {
    const width = Math.max(outer, graph.layers * BOX.width + (graph.layers - 1) * GAP.x + 48)
    const height = Math.max(220, graph.widest * (BOX.height + GAP.y) + 40)
    const stepX = graph.layers > 1 ? (width - 48 - BOX.width) / (graph.layers - 1) : 0
    const sizes = new Map<number, number>()
    for (const n of graph.nodes) sizes.set(n.layer, (sizes.get(n.layer) ?? 0) + 1)
    const at = new Map<string, { x: number; y: number; node: Node }>()
    for (const n of graph.nodes) {
      const stepY = height / sizes.get(n.layer)!
      at.set(n.name, { x: 24 + n.layer * stepX, y: stepY * (n.place + 0.5) - BOX.height / 2, node: n })
    }
    const marks: Mark[] = []
    const boxes = [...at.values()]
    for (const { x, y, node } of boxes) {
      marks.push({
        x0: x, x1: x + BOX.width, y0: y, y1: y + BOX.height, title: node.name,
        lines: node.name === OUTSIDE ? [['what', 'callers that are not traced']] : [['calls', `${rate(node.calls, seconds)} (${grouped(node.calls)})`], ['errors', node.errors > 0 ? `${grouped(node.errors)} (${percent(node.errors, node.calls)})` : 'none']],
        where: node.name === OUTSIDE ? 'not caller exists' : cellCondition({ ...TEXT, name: 'service' }, node.name),
      })
    }
    // In a large map labels would cover each other, so only the hovered arrow has one.
    const crowded = graph.edges.length > 60
    const taken: { x: number; y: number }[] = []
    const arrows = graph.edges.map((e) => {
      const from = at.get(e.from || OUTSIDE)!
      const to = at.get(e.to || OUTSIDE)!
      const self = from === to
      const forward = to.x > from.x
      const x0 = self || !forward ? from.x + BOX.width / 2 : from.x + BOX.width
      const x1 = self || !forward ? to.x + BOX.width / 2 : to.x
      const y0 = forward ? from.y + BOX.height / 2 : from.y + BOX.height
      const y1 = forward ? to.y + BOX.height / 2 : self ? to.y + BOX.height : to.y + BOX.height
      const lx = (x0 + x1) / 2
      let ly = forward ? (y0 + y1) / 2 : Math.max(y0, y1) + 14
      // Moves a label down until it covers no other.
      while (!crowded && taken.some((t) => Math.abs(t.x - lx) < 130 && Math.abs(t.y - ly) < 18) && ly < height - 12) ly += 6
      taken.push({ x: lx, y: ly })
      marks.push({ x0: lx - 46, x1: lx + 46, y0: ly - 9, y1: ly + 9, title: `${e.from || OUTSIDE} → ${e.to}`, lines: edgeFacts(e, seconds), where: edgeCondition(e) })
      return { e, x0, y0, x1, y1, lx, ly, forward, self }
    })
    const self: Layout = {
      width, height, marks, reach: 0, brush: null, plot: { left: 0, right: width, top: 0, bottom: height },
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        ctx.font = FONT
        ctx.textBaseline = 'middle'
        const active = marks[state.hovered]?.where ?? state.chosen
        arrows.forEach((a, i) => {
          const on = marks[boxes.length + i]!.where === active
          ctx.strokeStyle = a.e.errors > 0 ? colours.bad : on ? colours.accent : colours.muted
          ctx.globalAlpha = on ? 1 : 0.6
          ctx.lineWidth = 1 + Math.min(4, Math.log10(1 + a.e.calls))
          ctx.setLineDash(a.e.errors > 0 ? [7, 3] : [])
          ctx.beginPath()
          ctx.moveTo(a.x0, a.y0)
          if (a.forward) {
            const bend = (a.x1 - a.x0) / 2
            ctx.bezierCurveTo(a.x0 + bend, a.y0, a.x1 - bend, a.y1, a.x1 - 5, a.y1)
          } else ctx.bezierCurveTo(a.x0 + (a.self ? 40 : 0), a.y0 + 26, a.x1 - (a.self ? 40 : 0), a.y1 + 26, a.x1, a.y1 + 5)
          ctx.stroke()
          ctx.setLineDash([])
          ctx.lineWidth = 1
          ctx.fillStyle = ctx.strokeStyle
          ctx.beginPath()
          if (a.forward) ctx.moveTo(a.x1, a.y1), ctx.lineTo(a.x1 - 9, a.y1 - 5), ctx.lineTo(a.x1 - 9, a.y1 + 5)
          else ctx.moveTo(a.x1, a.y1), ctx.lineTo(a.x1 - 5, a.y1 + 9), ctx.lineTo(a.x1 + 5, a.y1 + 9)
          ctx.fill()
          ctx.globalAlpha = 1
        })
        ctx.textAlign = 'left'
        boxes.forEach(({ x, y, node }, i) => {
          const on = marks[i]!.where === active
          ctx.fillStyle = colours.background
          ctx.fillRect(x, y, BOX.width, BOX.height)
          ctx.strokeStyle = on ? colours.accent : node.name === OUTSIDE ? colours.muted : colours.line
          ctx.setLineDash(node.name === OUTSIDE ? [4, 3] : [])
          ctx.strokeRect(x + 0.5, y + 0.5, BOX.width - 1, BOX.height - 1)
          ctx.setLineDash([])
          if (node.name !== OUTSIDE) {
            ctx.fillStyle = serviceColour(node.name, colours.theme)
            ctx.fillRect(x, y, 5, BOX.height)
          }
          ctx.fillStyle = colours.text
          ctx.fillText(fit(ctx, node.name, BOX.width - 22), x + 13, y + (node.name === OUTSIDE ? BOX.height / 2 : 15))
          if (node.name !== OUTSIDE) {
            ctx.fillStyle = node.errors > 0 ? colours.bad : colours.muted
            ctx.fillText(fit(ctx, node.calls === 0 ? 'no calls' : `${rate(node.calls, seconds)}${node.errors > 0 ? ` · ▲ ${percent(node.errors, node.calls)}` : ''}`, BOX.width - 18), x + 13, y + 31)
          }
        })
        ctx.textAlign = 'center'
        arrows.forEach((a, i) => {
          const on = marks[boxes.length + i]!.where === active
          if (crowded && !on) return
          const label = `${rate(a.e.calls, seconds)} · ${a.e.p95 === null ? '–' : duration(a.e.p95)}${a.e.errors > 0 ? ` · ▲ ${percent(a.e.errors, a.e.calls)}` : ''}`
          const w = ctx.measureText(label).width + 10
          ctx.fillStyle = on ? colours.accentSoft : colours.background
          ctx.fillRect(a.lx - w / 2, a.ly - 8, w, 16)
          ctx.fillStyle = a.e.errors > 0 ? colours.bad : colours.text
          ctx.fillText(label, a.lx, a.ly)
        })
        ctx.textAlign = 'left'
      },
    }
    return self
  }
  const services = graph.nodes.filter((n) => n.name !== OUTSIDE).length
  const worst = graph.edges.filter((e) => e.errors > 0).sort((a, b) => b.errors / b.calls - a.errors / a.calls)[0]
  const slowest = graph.edges.reduce<Edge | null>((m, e) => ((e.p95 ?? 0) > (m?.p95 ?? 0) ? e : m), null)
  const detail = worst
    ? `; highest error rate ${percent(worst.errors, worst.calls)}, ${worst.from || OUTSIDE} → ${worst.to}`
    : slowest ? `; highest p95 ${duration(slowest.p95 ?? 0)}, ${slowest.from || OUTSIDE} → ${slowest.to}; no errors` : ''
  return { sentence: `${count(services, 'service')}, ${count(graph.edges.length, 'kind')} of calls${detail}`, notes: arrowsNote(graph), layout }
}

const arrowsNote = (graph: Graph): string[] => (graph.edges.length > 60 ? ['Hover over the middle of an arrow, or see the table, for its numbers.'] : [])
