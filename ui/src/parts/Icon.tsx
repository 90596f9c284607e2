// Line icons on a 16-px grid, so that no icon set has to be loaded.

const PATHS: Record<string, string> = {
  search: 'M7 12.5a5.5 5.5 0 1 1 0-11 5.5 5.5 0 0 1 0 11ZM11 11l4 4',
  trace: 'M1.5 3h9M4 6.5h6M6 10h8.5M9 13.5h4',
  path: 'M1.5 12h3.5V4h4v8h5.5',
  why: 'M8 1.5v3M3 12.5v-4h10v4M8 4.5v4M1.5 12.5h3v2h-3zM11.5 12.5h3v2h-3z',
  messages: 'M2 3.5h3M11 3.5h3M5 3.5h5M8.5 2 10 3.5 8.5 5M3.5 3.5v9M12.5 3.5v9M5 11.5h6M6.5 10 5 11.5 6.5 13',
  ask: 'M2 3.5l3.5 3L2 9.5M7 10h4M13.5 3v10M2 13h6',
  threads: 'M2 3.5h4M8 3.5h6M2 8h8M12 8h2M2 12.5h2M6 12.5h8M6 3.5l2 4.5M10 8l2 4.5',
  flame: 'M2 13.5h12M2 10h8M2 6.5h5M2 3h3',
  two: 'M2 2.5h5v11H2zM9 2.5h5v11H9z',
  status: 'M1 8.5h3l2-6 4 11 2-5h3',
  upload: 'M8 11V2M4.5 5.5 8 2l3.5 3.5M2 11v3h12v-3',
  download: 'M8 2v9M4.5 7.5 8 11l3.5-3.5M2 11v3h12v-3',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5 6 6 0 1 0 13.5 9.5Z',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  copy: 'M5.5 5.5V2h8.5v8.5h-3.5M2 5.5h8.5V14H2z',
  check: 'M2.5 8.5 6 12l7.5-8',
  close: 'M3 3l10 10M13 3 3 13',
  keyboard: 'M1.5 4h13v8h-13zM4 6.5h.01M7 6.5h.01M10 6.5h.01M12.5 6.5h.01M4.5 9.5h7',
  reset: 'M2.5 8a5.5 5.5 0 1 0 1.8-4L2.5 5.5M2.5 2v3.5H6',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  image: 'M2 3h12v10H2zM2 11l3.5-4 3 3 2-2 3.5 3.5M10.5 6h.01',
  table: 'M2 3h12v10H2zM2 6.5h12M2 10h12M6.5 6.5V13',
  link: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5 7.5 13a2.8 2.8 0 0 1-4-4L5 7.5',
  compare: 'M2 13V6h4v7M10 13V2h4v11M1 13.5h14',
  board: 'M2 2.5h5v5H2zM9 2.5h5v3H9zM9 7.5h5v6H9zM2 9.5h5v4H2z',
  map: 'M2 6h4v4H2zM10.5 1.5h4v4h-4zM10.5 10.5h4v4h-4zM6 7.5l4.5-3M6 8.5l4.5 3',
  warning: 'M8 2 15 14H1zM8 6.5v3.5M8 12h.01',
  pause: 'M5 3v10M11 3v10',
  play: 'M4 2.5 13 8l-9 5.5z',
  goto: 'M2 3.5v9M5 8h9M10.5 4.5 14 8l-3.5 3.5',
  up: 'M3 10.5 8 5.5l5 5',
  down: 'M3 5.5l5 5 5-5',
}

export function Icon({ name, size = 16 }: { name: keyof typeof PATHS; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
