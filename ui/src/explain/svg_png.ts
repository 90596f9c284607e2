import { savePng } from '../parts/canvas'

// Saves an SVG of the page as PNG. The style sheet is not part of the SVG, so computed styles are copied onto each
// element first.
const KEPT = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'opacity', 'font', 'paint-order', 'visibility']

export function svgToPng(svg: SVGSVGElement, caption: string, name: string): void {
  const copy = svg.cloneNode(true) as SVGSVGElement
  const from = svg.querySelectorAll<SVGElement>('*')
  copy.querySelectorAll<SVGElement>('*').forEach((element, i) => {
    const style = getComputedStyle(from[i]!)
    for (const key of KEPT) element.style.setProperty(key, style.getPropertyValue(key))
  })
  const { width, height } = svg.viewBox.baseVal
  copy.setAttribute('width', String(width))
  copy.setAttribute('height', String(height))
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  const url = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }))
  const image = new Image()
  image.onload = () => {
    const scale = Math.min(2, 8000 / Math.max(width, height))
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
    const ctx = canvas.getContext('2d')!
    ctx.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--surface')
    ctx.fillRect(0, 0, canvas.width, canvas.height)
    ctx.drawImage(image, 0, 0, canvas.width, canvas.height)
    URL.revokeObjectURL(url)
    savePng(canvas, caption, name)
  }
  image.src = url
}
