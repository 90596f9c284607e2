import type { CanvasColours } from '../parts/colours'

// A chart laid out for a width: marks to hover and click, and how to draw them. The *_chart.ts files make these from
// answers; ChartCanvas sizes the canvas, finds the mark under the pointer and shows the tip.

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
  // Max distance in pixels at which the pointer still hits a mark; 0: inside only.
  reach: number
  // What dragging selects: a time range, a region, or nothing.
  brush: 'x' | 'xy' | null
  plot: { left: number; right: number; top: number; bottom: number }
  paint: (ctx: CanvasRenderingContext2D, colours: CanvasColours, state: PaintState) => void
  // A selected rectangle as text for the URL, and back.
  selectionToText?: (s: Selection) => string
  selectionFromText?: (text: string) => Selection | null
}

export interface ChartModel {
  // The answer of the chart in a sentence.
  sentence: string
  // What is left out or estimated, shown under the chart.
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

// Shortens a text to the width, with an ellipsis.
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
