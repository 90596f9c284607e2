import { clear, fit, type ChartModel, type Layout, type Mark } from '../charts/layout'
import { quoteText } from '../data/condition_language'
import { FONT } from '../parts/axis'
import type { FlameTree, Frame } from './flame_model'

// The differential flame graph (Canopy figure 9a): width is the time of B, colour and sign show the change from A.

const ROW = 20
const MAX_DEPTH = 60

const RED = { light: ['#fdecea', '#f6b8b0', '#e2695c'], dark: ['#3b2422', '#7a3029', '#b8473b'] }
const BLUE = { light: ['#e8f0fd', '#a9c6f5', '#5b8fe0'], dark: ['#1f2a3d', '#2b4d80', '#3d73c2'] }

export interface FlameOptions {
  side: 'a' | 'b'
  // Frame shown at full width.
  zoom: number
  stack: string
  format: (value: number) => string
}

// −1…1: the change from A to B relative to the larger of the two.
const changeOf = (f: Frame): number => (f.b - f.a) / (Math.max(f.a, f.b) || 1)

export const signOf = (f: { a: number; b: number }): string => {
  const change = (f.b - f.a) / (Math.max(f.a, f.b) || 1)
  if (Math.abs(change) < 0.01) return '='
  if (f.a === 0) return '+ new'
  if (f.b === 0) return '− gone'
  const percent = ((f.b - f.a) / f.a) * 100
  return `${percent > 0 ? '+' : '−'}${Math.abs(percent) >= 1000 ? `${Math.round(Math.abs(percent) / 100)}×` : `${Math.round(Math.abs(percent))} %`}`
}

export function flameChart(tree: FlameTree, options: FlameOptions): ChartModel {
  const { side, format } = options
  const root = tree.frames[options.zoom] ?? tree.frames[0]!
  const zoomed = tree.frames[options.zoom] ? options.zoom : 0
  // Widths come from one side only; the wider of the two would misstate the total.
  const widthOf = (f: Frame) => f[side]
  const layout = (width: number): Layout => {
    const marks: Mark[] = []
    const placed: { frame: Frame; mark: Mark }[] = []
    let rows = 0
    const place = (index: number, x: number, w: number, depth: number) => {
      const f = tree.frames[index]!
      if (w < 0.5 || depth > MAX_DEPTH) return
      rows = Math.max(rows, depth + 1)
      const mark: Mark = {
        x0: x, x1: x + Math.max(1, w), y0: 4 + depth * ROW, y1: 4 + (depth + 1) * ROW, title: f.name,
        lines: [['A per row', format(f.a)], ['B per row', format(f.b)], ['change', signOf(f)], ['own time change', format(f.ownB - f.ownA)]],
        where: String(index),
      }
      marks.push(mark)
      placed.push({ frame: f, mark })
      let at = x
      const children = [...f.children.values()].sort((p, q) => (tree.frames[p]!.name < tree.frames[q]!.name ? -1 : 1))
      for (const c of children) {
        const cw = (widthOf(tree.frames[c]!) / (widthOf(root) || 1)) * (width - 16)
        place(c, at, cw, depth + 1)
        at += cw
      }
    }
    place(zoomed, 8, width - 16, 0)
    const height = Math.max(120, rows * ROW + 12)
    const self: Layout = {
      width, height, marks, reach: 0, brush: null, plot: { left: 8, right: width - 8, top: 4, bottom: height - 8 },
      paint(ctx, colours, state) {
        clear(ctx, self, colours)
        ctx.font = FONT
        ctx.textBaseline = 'middle'
        placed.forEach(({ frame, mark }, i) => {
          const change = changeOf(frame)
          const size = Math.abs(change)
          const ramp = (change > 0 ? RED : BLUE)[colours.theme]
          ctx.fillStyle = size < 0.01 ? colours.faint : ramp[size < 0.1 ? 0 : size < 0.4 ? 1 : 2]!
          ctx.fillRect(mark.x0, mark.y0, Math.max(1, mark.x1 - mark.x0 - 1), ROW - 1)
          const space = mark.x1 - mark.x0 - 10
          if (space > 24) {
            ctx.fillStyle = size >= 0.4 && colours.theme === 'light' ? '#1b0b09' : colours.text
            const sign = signOf(frame)
            const label = sign === '=' || space < 70 ? (space < 70 && sign !== '=' ? `${sign[0]} ${frame.name}` : frame.name) : `${sign} ${frame.name}`
            ctx.fillText(fit(ctx, label, space), mark.x0 + 5, mark.y0 + ROW / 2)
          }
          if (i === state.hovered) {
            ctx.strokeStyle = colours.text
            ctx.strokeRect(mark.x0 + 0.5, mark.y0 + 0.5, Math.max(1, mark.x1 - mark.x0 - 2), ROW - 2)
          }
        })
      },
    }
    return self
  }
  return { sentence: sentence(tree), notes: [], layout }
}

function sentence(tree: FlameTree): string {
  let largest: Frame | null = null
  for (const f of tree.frames) if (f.depth > 0 && (largest === null || Math.abs(f.ownB - f.ownA) > Math.abs(largest.ownB - largest.ownA))) largest = f
  if (!largest || Math.abs(largest.ownB - largest.ownA) < 1e-9) return 'Both populations spend the same time in the same functions'
  return `${largest.name} changed most: ${signOf({ a: largest.ownA, b: largest.ownB })} own time`
}

// The condition for stacks that go through a frame.
export function frameCondition(tree: FlameTree, index: number, stack: string): string {
  const names: string[] = []
  for (let i = index; i > 0; i = tree.frames[i]!.parent) names.unshift(tree.frames[i]!.name)
  const escaped = names.join('\n').replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return names.length === 0 ? '' : `${stack} ~ ${quoteText(`^${escaped}(\n|$)`)}`
}
