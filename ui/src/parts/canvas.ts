import { useEffect, useState, type RefObject } from 'react'

// Gives the canvas one backing pixel per device pixel and returns a context that draws in CSS pixels.
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const dpr = window.devicePixelRatio || 1
  const w = Math.max(1, Math.round(width * dpr))
  const h = Math.max(1, Math.round(height * dpr))
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const ctx = canvas.getContext('2d', { alpha: false })!
  ctx.setTransform(dpr, 0, 0, dpr, 0, 0)
  return ctx
}

export function useSize(ref: RefObject<HTMLElement>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 })
  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }))
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])
  return size
}

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

// Saves the chart with a caption below it: what it shows, and its URL.
export function savePng(chart: HTMLCanvasElement, caption: string, name: string): void {
  const dpr = window.devicePixelRatio || 1
  const foot = Math.round(24 * dpr)
  const canvas = document.createElement('canvas')
  canvas.width = chart.width
  canvas.height = chart.height + foot
  const ctx = canvas.getContext('2d')!
  const style = getComputedStyle(document.documentElement)
  ctx.fillStyle = style.getPropertyValue('--surface')
  ctx.fillRect(0, 0, canvas.width, canvas.height)
  ctx.drawImage(chart, 0, 0)
  ctx.fillStyle = style.getPropertyValue('--muted')
  ctx.font = `${Math.round(11 * dpr)}px system-ui, sans-serif`
  ctx.textBaseline = 'middle'
  ctx.fillText(`${caption} · ${location.href}`, 8 * dpr, chart.height + foot / 2, canvas.width - 16 * dpr)
  canvas.toBlob((blob) => blob && saveBlob(blob, name), 'image/png')
}

// CSV by RFC 4180, with cells quoted that a spreadsheet would run as a formula.
export function saveCsv(rows: (string | number | bigint)[][], name: string): void {
  const cell = (value: string | number | bigint) => {
    const text = String(value)
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
    return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe
  }
  saveBlob(new Blob([rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n'], { type: 'text/csv' }), name)
}
