import { Icon } from '../parts/Icon'
import { setParams } from '../shell/router'
import { parsePlace } from './path_model'
import type { Waterfall } from './waterfall_model'

export function placeName(w: Waterfall, text: string, side: 'start' | 'end'): string {
  const place = parsePlace(text, side)
  const block = place ? w.spanId.indexOf(place.spanId) : -1
  return block < 0 ? text : `${w.strings[w.name[block]!]!}’s ${place!.side}`
}

// Where the path starts and ends if it is not the whole request; each can be cleared.
export function PathPlaces({ w, from, to }: { w: Waterfall; from: string | null; to: string | null }) {
  const place = (key: 'from' | 'to', text: string | null, side: 'start' | 'end') =>
    text && (
      <span className="chip" key={key}>
        {key} <strong>{placeName(w, text, side)}</strong>
        <button type="button" className="icon-button small" aria-label={key === 'from' ? 'Clear the start of the path' : 'Clear the end of the path'} title="Clear" onClick={() => setParams({ [key]: null })}>
          <Icon name="close" size={12} />
        </button>
      </span>
    )
  return (
    <span className="row">
      {place('from', from, 'start')}
      {place('to', to, 'end')}
      {!from && !to && <span className="muted">Whole request. Select a span and press <kbd>[</kbd> or <kbd>]</kbd> for the path from it or to it.</span>}
    </span>
  )
}
