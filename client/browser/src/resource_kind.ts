// The kind of a resource: css, js, img, font, fetch, media, document, beacon or other. The browser reports only the
// initiator (a link element, a style sheet, a script), so the file extension and the document help.

const ENDINGS: [RegExp, string][] = [
  [/\.css$/, 'css'],
  [/\.m?js$/, 'js'],
  [/\.(woff2?|ttf|otf)$/, 'font'],
  [/\.(png|jpe?g|gif|svg|webp|avif|ico)$/, 'img'],
  [/\.(mp4|webm|mp3|m4a)$/, 'media'],
]

// Initiators, and the `as` of a preload.
const NAMES: Record<string, string> = {
  script: 'js', style: 'css', img: 'img', image: 'img', input: 'img', font: 'font', fetch: 'fetch', xmlhttprequest: 'fetch',
  beacon: 'beacon', video: 'media', audio: 'media', iframe: 'document', navigation: 'document',
}

function ofLinkElement(url: string): string | undefined {
  for (const { href, rel, as } of document.querySelectorAll<HTMLLinkElement>('link[href]')) {
    if (href === url) return /stylesheet/i.test(rel) ? 'css' : NAMES[as]
  }
  return undefined
}

export function resourceKind(url: string, initiator: string): string {
  if (NAMES[initiator]) return NAMES[initiator]
  const path = url.replace(/[?#].*/, '').toLowerCase()
  for (const [ending, kind] of ENDINGS) if (ending.test(path)) return kind
  return (initiator === 'link' && ofLinkElement(url)) || (initiator === 'css' ? 'img' : 'other')
}
