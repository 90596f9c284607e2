import { duration, percent } from '../parts/format'
import { partNote, pathParts, type PathModel } from './path_model'
import type { PathState } from './path_state'
import type { Waterfall } from './waterfall_model'
import { placeName } from './PathPlaces'

// Where the time went, in a sentence that links to the evidence.
export function PathAnswer({ w, state, from, to, onSelect, onOpen }: { w: Waterfall; state: PathState; from: string | null; to: string | null; onSelect: (block: number) => void; onOpen: () => void }) {
  if (state.error) {
    return (
      <p className="path-answer bad" role="status">
        {state.error.message}{' '}
        <button type="button" className="link-button" onClick={onOpen}>What to try</button>
      </p>
    )
  }
  if (!state.data) return <p className="path-answer appears muted" role="status">{state.loading ? 'Finding where the time went…' : ''}</p>
  return <Sentence w={w} path={state.data} from={from} to={to} onSelect={onSelect} onOpen={onOpen} />
}

function Sentence({ w, path, from, to, onSelect, onOpen }: { w: Waterfall; path: PathModel; from: string | null; to: string | null; onSelect: (block: number) => void; onOpen: () => void }) {
  const whole = path.to - path.from
  const between = from || to ? `between ${from ? placeName(w, from, 'start') : 'the start'} and ${to ? placeName(w, to, 'end') : 'the end'}` : ''
  const [top, ...rest] = pathParts(path)
  if (!top) return <p className="path-answer">No time passed {between || 'in it'}, so there is no path to show.</p>
  return (
    <p className="path-answer">
      <button type="button" className="link-button strong" title="Select where it took longest" onClick={() => onSelect(path.block[top.longest]!)}>
        {percent(top.total, whole)} of the {duration(whole)}{between && ` ${between}`}: {top.service} {top.name} {partNote(top)}
      </button>
      {rest.slice(0, 2).map((part) => (
        <span key={`${part.verdict} ${part.service} ${part.name}`} className="path-rest">
          , {percent(part.total, whole)} {part.service} {part.name} {partNote(part)}
        </span>
      ))}
      <span className="dot" />
      <button type="button" className="link-button" title="Critical path (3)" onClick={onOpen}>the critical path</button>
    </p>
  )
}
