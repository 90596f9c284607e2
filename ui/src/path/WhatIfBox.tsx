import { useId, useState } from 'react'
import { duration, exactNs, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { navigate, withParams } from '../shell/router'
import { whatIfProblem } from '../trace/path_model'

interface Props {
  changes: string[]
  suggestions: string[]
  // The time it took, and the server's estimate with `changes`.
  nowNs: number
  then: { matched: number; durationNs: number } | null
  subject: string
  // Checks the text, where the grammar is not that of the critical path.
  problemOf?: (text: string) => string | null
  placeholder?: string
}

function setChanges(changes: string[]) {
  const params = new URLSearchParams(location.search)
  params.delete('what_if')
  for (const change of changes) params.append('what_if', change)
  navigate(withParams(location.pathname, params), 'replace')
}

const selectorOf = (change: string): string => change.slice(0, change.lastIndexOf('='))

// The suggestion that contains the last part of what matched nothing: for storage/scan it is storage/GET /scan.
function similarChange(change: string, suggestions: string[]): string | null {
  const name = selectorOf(change).split('/').at(-1)!.toLowerCase()
  return suggestions.find((s) => name !== '' && selectorOf(s).toLowerCase().includes(name)) ?? null
}

// "What if storage were twice as fast?": SELECTOR=FACTORx, any number at once, replayed by the server.
export function WhatIfBox({ changes, suggestions, nowNs, then, subject, problemOf = whatIfProblem, placeholder = 'service/storage=0.5x' }: Props) {
  const [text, setText] = useState('')
  const id = useId()
  const problem = text.trim() ? problemOf(text.trim()) : null
  const verdict = text.trim() === '' ? 'empty' : problem ? 'bad' : 'good'
  const similar = changes.length > 0 && then?.matched === 0 ? similarChange(changes.at(-1)!, suggestions) : null
  return (
    <div className="what-if">
      <form
        className={`filter-box filter-${verdict}`}
        onSubmit={(event) => {
          event.preventDefault()
          if (verdict !== 'good') return
          setChanges([...changes.filter((c) => c !== text.trim()), text.trim()])
          setText('')
        }}
      >
        <label htmlFor={id}>What if</label>
        <input id={id} className="mono" type="text" list={`${id}-list`} spellCheck={false} autoComplete="off" aria-invalid={verdict === 'bad'} placeholder={placeholder} value={text} onChange={(event) => setText(event.target.value)} />
        <datalist id={`${id}-list`}>{suggestions.map((s) => <option key={s} value={s} />)}</datalist>
        <button type="submit" className="button" disabled={verdict !== 'good'}>Run</button>
      </form>
      {problem && <span className="filter-reason" role="status">{problem}</span>}
      {changes.map((change) => (
        <span className="chip mono" key={change}>
          {change}
          <button type="button" className="icon-button small" aria-label={`Remove ${change}`} title="Remove" onClick={() => setChanges(changes.filter((c) => c !== change))}><Icon name="close" size={12} /></button>
        </span>
      ))}
      {changes.length > 0 && then && (
        <span className="what-if-answer" role="status">
          {then.matched === 0 ? (
            <>No match for {changes.map((c) => `“${selectorOf(c)}”`).join(' or ')}{similar && `; try “${similar}”`}</>
          ) : (
            <>
              {subject} would take <strong title={exactNs(then.durationNs)}>{duration(then.durationNs)}</strong> instead of {duration(nowNs)}
              {nowNs > 0 && then.durationNs !== nowNs && ` (${then.durationNs < nowNs ? '−' : '+'}${percent(Math.abs(nowNs - then.durationNs), nowNs)})`}
            </>
          )}
        </span>
      )}
    </div>
  )
}
