import { useEffect, useMemo, useRef, useState } from 'react'
import { sizeCanvas, useSize } from '../parts/canvas'
import { readCanvasColours } from '../parts/colours'
import { duration, percent } from '../parts/format'
import { VerdictFills, verdictWords } from '../parts/verdict'
import { useTheme } from '../shell/theme'
import { paintRuler } from './overview_painter'
import { firstSegmentAfter, verdictAt, type PathModel } from './path_model'

const STRIP = 44
const RULER = 22
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

// The path from left to right. Of segments that share a pixel, the longest is drawn.
export function PathStrip({ path, origin, selected, onSelect, canvasRef }: { path: PathModel; origin: number; selected: number; onSelect: (segment: number) => void; canvasRef: React.RefObject<HTMLCanvasElement> }) {
  const theme = useTheme()
  const box = useRef<HTMLDivElement>(null)
  const { width } = useSize(box)
  const [hover, setHover] = useState<{ segment: number; x: number } | null>(null)
  const whole = Math.max(path.to - path.from, 1)
  const scale = width / whole
  const shown = useMemo(() => pixels(path, width), [path, width])
  useEffect(() => {
    const canvas = canvasRef.current
    if (!canvas || width === 0) return
    const colours = readCanvasColours(theme)
    const ctx = sizeCanvas(canvas, width, STRIP + RULER)
    paintRuler(ctx, colours, 0, width, RULER, path.from, path.to, origin, null)
    ctx.fillStyle = colours.background
    ctx.fillRect(0, RULER, width, STRIP)
    const fills = new VerdictFills(ctx, colours.verdicts, colours.background)
    ctx.textBaseline = 'middle'
    ctx.font = FONT
    for (const s of shown) {
      const x = (path.start[s]! - path.from) * scale
      const w = Math.max(path.length[s]! * scale, 1)
      ctx.fillStyle = fills.of(verdictAt(path, s))
      ctx.fillRect(x, RULER + 2, w, STRIP - 4)
      if (w > 3) {
        ctx.fillStyle = colours.background
        ctx.fillRect(x + w - 1, RULER + 2, 1, STRIP - 4)
      }
      if (path.block[s] === selected && selected >= 0) {
        ctx.strokeStyle = colours.text
        ctx.lineWidth = 2
        ctx.strokeRect(x + 1, RULER + 1, Math.max(w - 2, 1), STRIP - 2)
        ctx.lineWidth = 1
      }
      if (w < 64) continue
      const label = `${path.service[s]} ${path.name[s]}`
      const text = fit(ctx, label, w - 16)
      if (!text) continue
      // Text on a hatch is unreadable, so it gets a background.
      ctx.fillStyle = colours.background
      ctx.fillRect(x + 4, RULER + STRIP / 2 - 9, ctx.measureText(text).width + 8, 18)
      ctx.fillStyle = colours.text
      ctx.fillText(text, x + 8, RULER + STRIP / 2 + 0.5)
    }
  }, [path, shown, width, theme, selected, scale, origin, canvasRef])

  const at = (event: React.PointerEvent | React.MouseEvent) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left
    const s = firstSegmentAfter(path, path.from + x / scale)
    return { x, segment: s < path.count ? s : -1 }
  }
  return (
    <div className="path-strip" ref={box} onPointerMove={(event) => setHover(at(event))} onPointerLeave={() => setHover(null)} onClick={(event) => { const { segment } = at(event); if (segment >= 0) onSelect(segment) }}>
      <canvas ref={canvasRef} aria-hidden="true" />
      {hover && hover.segment >= 0 && (
        <div className="tip" role="presentation" style={{ transform: `translate(${Math.max(4, Math.min(hover.x + 12, width - 280))}px, ${STRIP + RULER + 4}px)` }}>
          <strong>{path.service[hover.segment]}</strong> {path.name[hover.segment]}
          <dl>
            <dt>{verdictWords(verdictAt(path, hover.segment))}</dt>
            <dd>{duration(path.length[hover.segment]!)} <span className="muted">{percent(path.length[hover.segment]!, whole)}</span></dd>
            <dt>starts at</dt>
            <dd>{duration(path.start[hover.segment]! - path.from)}</dd>
          </dl>
        </div>
      )}
    </div>
  )
}

function fit(ctx: CanvasRenderingContext2D, text: string, space: number): string {
  if (ctx.measureText(text).width <= space) return text
  let keep = Math.floor((space / ctx.measureText(text).width) * text.length) - 1
  while (keep > 2 && ctx.measureText(`${text.slice(0, keep)}…`).width > space) keep--
  return keep > 2 ? `${text.slice(0, keep)}…` : ''
}

// Reduces the segments to draw to at most two per pixel.
function pixels(path: PathModel, width: number): number[] {
  if (path.count <= 2 * width || width === 0) return Array.from({ length: path.count }, (_, i) => i)
  const scale = width / Math.max(path.to - path.from, 1)
  const out: number[] = []
  let column = -1
  let best = -1
  for (let s = 0; s < path.count; s++) {
    const at = Math.floor((path.start[s]! - path.from) * scale)
    if (at !== column) {
      if (best >= 0) out.push(best)
      column = at
      best = s
    } else if (path.length[s]! > path.length[best]!) best = s
  }
  if (best >= 0) out.push(best)
  return out
}

