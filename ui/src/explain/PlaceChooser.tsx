import { useId, useMemo } from 'react'
import { duration } from '../parts/format'
import { setParams } from '../shell/router'
import { parsePlace } from '../trace/path_model'
import type { Waterfall } from '../trace/waterfall_model'

// Of a large trace the list has the longest spans, and the one that is chosen.
const MAX_LISTED = 400

// Where the explanation starts or ends: a span's start or end, or that of the whole request.
export function PlaceChooser({ w, which, text }: { w: Waterfall | null; which: 'from' | 'to'; text: string | null }) {
  const side = which === 'from' ? 'start' : 'end'
  const id = useId()
  const place = parsePlace(text, side)
  const listed = useMemo(() => {
    if (!w) return []
    const all = Array.from({ length: w.count }, (_, i) => i)
    if (all.length <= MAX_LISTED) return all
    const { duration: length } = w.times.aligned
    return all.sort((a, b) => length[b]! - length[a]!).slice(0, MAX_LISTED).sort((a, b) => a - b)
  }, [w])
  const chosen = place && w ? w.spanId.indexOf(place.spanId) : -1
  const set = (spanId: string, at: string) => setParams({ [which]: spanId && `${spanId}${at === side ? '' : `:${at}`}`, sel: null, open: null }, 'push')
  const name = (i: number) => `${w!.strings[w!.service[i]!]} ${w!.strings[w!.name[i]!]} · ${duration(w!.times.aligned.duration[i]!)}`
  return (
    <span className="place-chooser">
      <label htmlFor={id}>{which === 'from' ? 'From' : 'to'}</label>
      <select id={id} value={place?.spanId ?? ''} disabled={!w && !place} onChange={(event) => set(event.target.value, place?.side ?? side)}>
        <option value="">{which === 'from' ? 'the request’s start' : 'the request’s end'}</option>
        {place && !(chosen >= 0 && listed.includes(chosen)) && <option value={place.spanId}>{chosen >= 0 ? name(chosen) : place.spanId}</option>}
        {listed.map((i) => <option key={i} value={w!.spanId[i]}>{'\u00a0\u00a0'.repeat(Math.min(depthOf(w!, i), 8))}{name(i)}</option>)}
      </select>
      {place && (
        <select aria-label={which === 'from' ? 'From its start or end' : 'To its start or end'} value={place.side} onChange={(event) => set(place.spanId, event.target.value)}>
          <option value="start">its start</option>
          <option value="end">its end</option>
        </select>
      )}
    </span>
  )
}

function depthOf(w: Waterfall, block: number): number {
  let depth = 0
  for (let p = w.parent[block]!; p >= 0 && depth < 9; p = w.parent[p]!) depth++
  return depth
}
