// Caches text widths on a canvas, because measuring is the largest cost of drawing labels.
export class TextFitter {
  private widths = new Map<string, number>()
  private labels = new Map<string, string>()

  width(ctx: CanvasRenderingContext2D, text: string): number {
    const key = ctx.font + text
    let known = this.widths.get(key)
    if (known === undefined) {
      known = ctx.measureText(text).width
      this.widths.set(key, known)
    }
    return known
  }

  // The text, shortened with an ellipsis to fit `space`.
  fit(ctx: CanvasRenderingContext2D, text: string, space: number): string {
    const bucket = Math.floor(space / 6)
    const key = `${bucket} ${text}`
    let label = this.labels.get(key)
    if (label !== undefined) return label
    const limit = bucket * 6
    label = text
    if (ctx.measureText(text).width > limit) {
      let low = 0
      let high = Math.min(text.length, limit)
      while (low < high) {
        const half = (low + high + 1) >> 1
        if (ctx.measureText(text.slice(0, half) + '…').width <= limit) low = half
        else high = half - 1
      }
      label = text.slice(0, low) + '…'
    }
    if (this.labels.size > 20000) this.labels.clear()
    this.labels.set(key, label)
    return label
  }
}
