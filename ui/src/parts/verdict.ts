// What a part of the critical path was spent on. Each verdict has a colour, a pattern for reading without colour, and
// words for sentences.

export const VERDICTS = ['self', 'blocked', 'network', 'queue', 'unknown'] as const
export type Verdict = (typeof VERDICTS)[number]

const WORDS: Record<Verdict, string> = {
  self: 'own work',
  blocked: 'blocked',
  network: 'network',
  queue: 'queue',
  unknown: 'unknown',
}
const MEANINGS: Record<Verdict, string> = {
  self: 'the step’s own work',
  blocked: 'waiting for something that is not traced',
  network: 'in transit between caller and server',
  queue: 'waiting in a queue, for a lock or for a free worker',
  unknown: 'in a step that never arrived',
}

export const verdictOf = (text: string): Verdict => ((VERDICTS as readonly string[]).includes(text) ? (text as Verdict) : 'unknown')
export const verdictWords = (verdict: Verdict): string => WORDS[verdict]
export const verdictMeaning = (verdict: Verdict): string => MEANINGS[verdict]

export type VerdictColours = Record<Verdict, string>

export function readVerdictColours(): VerdictColours {
  const style = getComputedStyle(document.documentElement)
  const out = {} as VerdictColours
  for (const verdict of VERDICTS) out[verdict] = style.getPropertyValue(`--verdict-${verdict}`).trim()
  return out
}

// Canvas fills: own work is solid, each kind of wait has its own hatch.
export class VerdictFills {
  private fills = new Map<Verdict, CanvasPattern | string>()

  constructor(private readonly ctx: CanvasRenderingContext2D, readonly colours: VerdictColours, private readonly background: string) {}

  of(verdict: Verdict): CanvasPattern | string {
    let fill = this.fills.get(verdict)
    if (!fill) {
      fill = verdict === 'self' ? this.colours.self : this.hatch(verdict)
      this.fills.set(verdict, fill)
    }
    return fill
  }

  private hatch(verdict: Verdict): CanvasPattern | string {
    const tile = document.createElement('canvas')
    tile.width = tile.height = 6
    const t = tile.getContext('2d')!
    t.fillStyle = this.colours[verdict]
    t.fillRect(0, 0, 6, 6)
    t.fillStyle = t.strokeStyle = this.background
    t.lineWidth = 1.5
    t.beginPath()
    if (verdict === 'blocked') {
      for (const x of [-6, 0, 6]) { t.moveTo(x, 6); t.lineTo(x + 6, 0) }
      t.stroke()
    } else if (verdict === 'network') {
      t.fillRect(1, 1, 2, 2)
      t.fillRect(4, 4, 2, 2)
    } else if (verdict === 'queue') {
      t.fillRect(0, 0, 2, 6)
    } else {
      for (const x of [-6, 0, 6]) { t.moveTo(x, 6); t.lineTo(x + 6, 0); t.moveTo(x, 0); t.lineTo(x + 6, 6) }
      t.stroke()
    }
    return this.ctx.createPattern(tile, 'repeat') ?? this.colours[verdict]
  }
}
