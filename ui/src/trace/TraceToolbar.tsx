import type { RefObject } from 'react'
import { traceJsonUrl } from '../api/client'
import { download, isSignedIn } from '../api/session'
import { savePng } from '../parts/canvas'
import { count, duration, grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { setParams } from '../shell/router'
import type { TraceViewName } from './trace_keys'
import { GROUPINGS, type Grouping } from './unit_rows'
import type { WaterfallHandle } from './Waterfall'
import type { Clock, Match, Waterfall } from './waterfall_model'

interface Props {
  w: Waterfall
  view: TraceViewName
  clock: Clock
  find: string
  match: Match | null
  // Which of the matches is selected, from 1.
  position: number
  findInput: RefObject<HTMLInputElement>
  waterfall: RefObject<WaterfallHandle>
  folded: boolean
  pathShown: boolean
  grouping: Grouping | null
  caption: string
  onFolds: () => void
  onNext: (step: 1 | -1) => void
  onView: (view: TraceViewName) => void
  onHelp: () => void
  onCompare: () => void
}

export function TraceToolbar({ w, view, clock, find, match, position, findInput, waterfall, folded, pathShown, grouping, caption, onFolds, onNext, onView, onHelp, onCompare }: Props) {
  const setClock = (next: Clock) => setParams({ clock: next === 'raw' ? 'raw' : null })
  return (
    <div className="toolbar" role="toolbar" aria-label="Trace">
      <div className="find">
        <Icon name="search" size={14} />
        <input
          ref={findInput}
          type="search"
          value={find}
          placeholder="Find in this trace"
          aria-label="Find in this trace"
          onChange={(event) => setParams({ find: event.target.value })}
          onKeyDown={(event) => {
            event.stopPropagation()
            if (event.key === 'Enter' && match) onNext(event.shiftKey ? -1 : 1)
            if (event.key === 'Escape') {
              if (find) setParams({ find: null })
              waterfall.current?.focus()
            }
          }}
        />
        {match ? (
          <>
            <span className={`num small ${match.blocks.length ? 'muted' : 'bad'}`} role="status">
              {match.blocks.length === 0 ? 'no match' : `${position || '–'}/${grouped(match.blocks.length)}`}
            </span>
            <button type="button" className="icon-button small" aria-label="Previous match" title="Previous match (Shift+N)" onClick={() => onNext(-1)}><Icon name="up" size={12} /></button>
            <button type="button" className="icon-button small" aria-label="Next match" title="Next match (N)" onClick={() => onNext(1)}><Icon name="down" size={12} /></button>
          </>
        ) : <kbd>/</kbd>}
      </div>
      <div className="segmented views" role="group" aria-label="View">
        <button type="button" aria-pressed={view === 'waterfall'} onClick={() => onView('waterfall')}><Icon name="trace" size={14} /> Waterfall</button>
        <button type="button" aria-pressed={view === 'table'} onClick={() => onView('table')}><Icon name="table" size={14} /> Table</button>
        <button type="button" aria-pressed={view === 'path'} onClick={() => onView('path')}><Icon name="path" size={14} /> Critical path</button>
        <button type="button" aria-pressed={view === 'flame'} onClick={() => onView('flame')}><Icon name="flame" size={14} /> Flame</button>
      </div>
      <div className="segmented" role="group" aria-label="Clock" title={w.clocks.length === 0 ? 'All spans share one clock; nothing was adjusted' : `Clocks aligned by cause and effect between hosts (${count(w.clocks.length, 'host window')})`}>
        <button type="button" aria-pressed={clock === 'aligned'} onClick={() => setClock('aligned')}>
          Aligned{w.clockErrorNs > 0 && <span className="muted"> ± {duration(w.clockErrorNs)}</span>}
        </button>
        <button type="button" aria-pressed={clock === 'raw'} onClick={() => setClock('raw')}>Raw</button>
      </div>
      <span className="spring" />
      {view === 'waterfall' && (
        <div className="tools">
          <select aria-label="Group rows by" title="Group rows by (G)" value={grouping ?? ''} onChange={(event) => setParams({ group: event.target.value || null, shut: null })}>
            <option value="">No grouping</option>
            {GROUPINGS.map((g) => <option key={g} value={g}>Group by {g}</option>)}
          </select>
          <button type="button" className="icon-button" aria-pressed={pathShown} aria-label="Critical path on the bars" title="Critical path on the bars (P)" onClick={() => setParams({ path: pathShown ? 'off' : null })}>
            <Icon name="path" />
          </button>
          <button type="button" className="button quiet" onClick={onFolds}>
            {folded ? 'Unfold all' : 'Fold all'}
          </button>
          <button type="button" className="icon-button" aria-label="Zoom out" title="Zoom out (S)" onClick={() => waterfall.current?.zoom(1.6)}><Icon name="minus" /></button>
          <button type="button" className="icon-button" aria-label="Zoom in" title="Zoom in (W)" onClick={() => waterfall.current?.zoom(1 / 1.6)}><Icon name="plus" /></button>
          <button type="button" className="icon-button" aria-label="Show the whole trace" title="Show the whole trace (0)" onClick={() => waterfall.current?.reset()}><Icon name="reset" /></button>
          <button type="button" className="icon-button" aria-label="Save as PNG" title="Save as PNG" onClick={() => { const image = waterfall.current?.image(); if (image) savePng(image, caption, `trace-${w.traceId}.png`) }}><Icon name="image" /></button>
        </div>
      )}
      <button type="button" className="icon-button" aria-label="Compare with…" title="Compare with…" onClick={onCompare}><Icon name="two" /></button>
      <a className="button quiet" href={traceJsonUrl(w.traceId, clock)} download={`trace-${w.traceId}.json`} onClick={(event) => {
        if (!isSignedIn()) return
        event.preventDefault()
        void download(traceJsonUrl(w.traceId, clock), `trace-${w.traceId}.json`)
      }}><Icon name="download" size={14} /> JSON</a>
      <button type="button" className="icon-button" aria-label="Keyboard help" title="Keyboard (?)" onClick={onHelp}><Icon name="keyboard" /></button>
    </div>
  )
}
