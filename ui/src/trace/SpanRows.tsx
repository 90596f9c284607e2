import { count, duration } from '../parts/format'
import { canFold, depthAt, type Clock, type Rows, type Waterfall } from './waterfall_model'

const AROUND = 12

// Rows for screen readers, which cannot read the canvas: hidden ones around the selection.
export function SpanRows({ w, rows, folded, clock, selected }: { w: Waterfall; rows: Rows; folded: ReadonlySet<number>; clock: Clock; selected: number }) {
  const centre = selected >= 0 ? rows.rowOf[selected]! : 0
  const first = Math.max(0, centre - AROUND)
  const { start, duration: length, from } = w.times[clock]
  return (
    <div className="sr-only" role="rowgroup">
      {Array.from(rows.blocks.subarray(first, centre + AROUND + 1), (block, offset) => block < 0 ? (
        <div key={block} role="row" aria-rowindex={first + offset + 1} aria-level={1} aria-expanded={!rows.groups[-1 - block]!.shut}>
          <span role="gridcell">{rows.groups[-1 - block]!.label}, {count(rows.groups[-1 - block]!.members.length, 'span')}</span>
        </div>
      ) : (
        <div
          key={block}
          id={`span-${block}`}
          role="row"
          aria-rowindex={first + offset + 1}
          aria-level={depthAt(w, rows, first + offset) + 1}
          aria-selected={block === selected}
          aria-expanded={canFold(w, rows, block) ? !folded.has(block) : undefined}
        >
          <span role="gridcell">
            {w.strings[w.service[block]!]} {w.strings[w.name[block]!]}
          </span>
          <span role="gridcell">starts at {duration(start[block]! - from)}</span>
          <span role="gridcell">takes {duration(length[block]!)}</span>
          <span role="gridcell">own time {duration(w.own[block]!)}</span>
          {w.status[block] === 2 && <span role="gridcell">error</span>}
        </div>
      ))}
    </div>
  )
}
