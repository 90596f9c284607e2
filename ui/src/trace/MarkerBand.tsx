import { duration } from '../parts/format'
import type { Clock, Marker, Range, Waterfall } from './waterfall_model'

interface Props {
  w: Waterfall
  clock: Clock
  range: Range
  treeWidth: number
  width: number
  onSelect: (block: number) => void
}

const LETTER = 6
const AIR = 12
const LANES = 2

interface Shown {
  marker: Marker
  x: number
  lane: number
  more: number
}

// Labels of the phases above their lines in the waterfall, on two lanes. A label without space is counted on the last
// one that has some.
export function MarkerBand({ w, clock, range, treeWidth, width, onSelect }: Props) {
  const timeWidth = Math.max(0, width - treeWidth)
  const shown: Shown[] = []
  const free = new Array<number>(LANES).fill(-Infinity)
  for (const marker of w.markers) {
    const time = marker.time + (clock === 'raw' ? w.times.raw.start[marker.block]! - w.times.aligned.start[marker.block]! : 0)
    const x = ((time - range.from) / (range.to - range.from)) * timeWidth
    if (x < 0 || x > timeWidth) continue
    const lane = free.findIndex((taken) => x >= taken)
    if (lane < 0) {
      shown[shown.length - 1]!.more++
      continue
    }
    shown.push({ marker, x, lane, more: 0 })
    free[lane] = x + marker.label.length * LETTER + AIR
  }
  return (
    <div className={`wf-markers ${shown.some((s) => s.lane > 0) ? 'two' : ''}`}>
      <div className="wf-head-label" style={{ width: treeWidth }}><span>Phases</span></div>
      <ul className="wf-marker-list" aria-label="Phases">
        {shown.map(({ marker, x, lane, more }) => {
          const left = Math.min(x, Math.max(0, timeWidth - marker.label.length * LETTER - AIR - (more ? 24 : 0)))
          return (
            <li key={`${marker.label} ${marker.time} ${marker.block}`} style={{ left }} className={`${left < x - 1 ? 'before' : ''} ${lane > 0 ? 'second' : ''}`}>
              <button type="button" className="wf-marker" title={`${marker.label} at ${duration(marker.time - w.times.aligned.from)}`} onClick={() => onSelect(marker.block)}>
                {marker.label}{more > 0 && <span className="muted"> +{more}</span>}
              </button>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
