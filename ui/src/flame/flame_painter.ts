import { serviceColour, type CanvasColours } from '../parts/colours'
import { boxAt, type Boxes } from './flame_model'

export const LEVEL = 20
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

export interface FlameScene {
  boxes: Boxes
  strings: string[]
  from: number
  to: number
  selected: number // name of a function, -1: none
  hovered: number // box
  find: string
}

// Draws only levels and times in view, and boxes that share a pixel once, so that the cost depends on the screen and not
// on the number of samples.
export function paintFlame(ctx: CanvasRenderingContext2D, scene: FlameScene, colours: CanvasColours, width: number, height: number, scrollTop: number): void {
  const { boxes, strings } = scene
  ctx.fillStyle = colours.background
  ctx.fillRect(0, 0, width, height)
  ctx.font = FONT
  ctx.textBaseline = 'middle'
  const scale = width / (scene.to - scene.from)
  // Light enough for text in the theme's colour.
  const strength = colours.theme === 'dark' ? 0.45 : 0.62
  const wanted = scene.find.trim().toLowerCase()
  const firstLevel = Math.max(0, Math.floor(scrollTop / LEVEL))
  const lastLevel = Math.min(boxes.levels, Math.ceil((scrollTop + height) / LEVEL))
  for (let level = firstLevel; level < lastLevel; level++) {
    const y = level * LEVEL - scrollTop
    let painted = -1
    for (let i = firstInView(boxes, level, scene.from); i < boxes.levelFirst[level + 1]!; i++) {
      const x0 = (boxes.start[i]! - scene.from) * scale
      if (x0 > width) break
      const x1 = x0 + boxes.length[i]! * scale
      if (x1 < painted) continue
      const a = Math.max(x0, 0, painted)
      const b = Math.max(Math.min(x1, width), a + 1)
      const name = strings[boxes.name[i]!]!
      const off = (wanted !== '' && !name.toLowerCase().includes(wanted)) || (scene.selected >= 0 && boxes.name[i] !== scene.selected)
      ctx.globalAlpha = off ? 0.2 : strength
      ctx.fillStyle = frameColour(name, colours.theme)
      ctx.fillRect(a, y, Math.max(b - a - (b - a > 3 ? 1 : 0), 1), LEVEL - 1)
      ctx.globalAlpha = 1
      painted = Math.ceil(b)
      if (i === scene.hovered || (scene.selected >= 0 && boxes.name[i] === scene.selected)) {
        ctx.strokeStyle = colours.text
        ctx.strokeRect(a + 0.5, y + 0.5, Math.max(b - a - 2, 1), LEVEL - 2)
      }
      if (b - a < 30) continue
      ctx.fillStyle = colours.text
      const label = fit(ctx, name, b - a - 10)
      if (label) ctx.fillText(label, a + 5, y + LEVEL / 2)
    }
  }
}

// Functions of one library share a colour: the part before the last "::", "." or "/" names the library.
function frameColour(name: string, theme: 'light' | 'dark'): string {
  const at = Math.max(name.lastIndexOf('::'), name.lastIndexOf('.'), name.lastIndexOf('/'))
  return serviceColour(at > 0 ? name.slice(0, at) : name, theme)
}

function firstInView(b: Boxes, level: number, from: number): number {
  const inside = boxAt(b, level, from)
  if (inside >= 0) return inside
  let low = b.levelFirst[level]!
  let high = b.levelFirst[level + 1]!
  while (low < high) {
    const half = (low + high) >> 1
    if (b.start[half]! < from) low = half + 1
    else high = half
  }
  return low
}

const widths = new Map<string, number>()

function fit(ctx: CanvasRenderingContext2D, text: string, space: number): string {
  let width = widths.get(text)
  if (width === undefined) {
    if (widths.size > 20000) widths.clear()
    widths.set(text, (width = ctx.measureText(text).width))
  }
  if (width <= space) return text
  const keep = Math.floor((space / width) * text.length) - 1
  return keep > 1 ? `${text.slice(0, keep)}…` : ''
}
