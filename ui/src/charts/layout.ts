import type { CanvasColours } from '../parts/colours'

// A chart laid out for a width: rectangles that can be pointed at, and how to draw them. Painters make these from
// answers; ChartCanvas sizes the canvas, hit-tests, and shows the tip.

export interface Mark {
  x0: number
  y0: number
  x1: number
  y1: number
  title: string
  lines: [string, string][]
  // The condition that selects the rows behind it.
  where: string
}

export interface Selection {
  x0: number
  y0: number
  x1: number
  y1: number
}

export interface PaintState {
  hovered: number
  chosen: string | null
  selection: Selection | null
}

export interface Layout {
  width: number
  height: number
  marks: Mark[]
  // How far from a mark a pointer still means it; 0: inside only.
  reach: number
  // What may be dragged out: a stretch of time, a region, or nothing.
  brush: 'x' | 'xy' | null
  plot: { left: number; right: number; top: number; bottom: number }
  paint: (ctx: CanvasRenderingContext2D, colours: CanvasColours, state: PaintState) => void
  // The condition a selected rectangle stands for, and the rectangle of a condition given by toText().
  selectionToText?: (s: Selection) => string
  selectionFromText?: (text: string) => Selection | null
}

export interface ChartModel {
  // What the chart says, in a sentence.
  sentence: string
  // Said under the chart: what is left out or estimated.
  notes: string[]
  layout: (width: number) => Layout
}

export function clear(ctx: CanvasRenderingContext2D, layout: Layout, colours: CanvasColours): void {
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, layout.width, layout.height)
}

export function paintSelection(ctx: CanvasRenderingContext2D, s: Selection | null, colours: CanvasColours): void {
  if (!s) return
  ctx.globalAlpha = 0.5
  ctx.fillStyle = colours.accentSoft
  ctx.fillRect(s.x0, s.y0, s.x1 - s.x0, s.y1 - s.y0)
  ctx.globalAlpha = 1
  ctx.strokeStyle = colours.accent
  ctx.setLineDash([4, 3])
  ctx.strokeRect(s.x0 + 0.5, s.y0 + 0.5, s.x1 - s.x0 - 1, s.y1 - s.y0 - 1)
  ctx.setLineDash([])
}

// Cuts a text with an ellipsis; measured once per text and width.
export function fit(ctx: CanvasRenderingContext2D, text: string, width: number): string {
  if (width <= 8) return ''
  if (ctx.measureText(text).width <= width) return text
  let low = 0
  let high = text.length
  while (low < high) {
    const mid = (low + high + 1) >> 1
    if (ctx.measureText(`${text.slice(0, mid)}…`).width <= width) low = mid
    else high = mid - 1
  }
  return low === 0 ? '' : `${text.slice(0, low)}…`
}
