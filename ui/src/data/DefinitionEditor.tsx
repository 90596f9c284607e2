import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client'
import { applyDataset, type ApplyAnswer, type BackfillAnswer } from '../api/datasets'
import { count, duration, grouped } from '../parts/format'
import { WithCode } from '../parts/states'
import { followInPage } from '../shell/router'
import { backfill, type Progress } from './backfill'
import { typeName } from './values'

export const TEMPLATE = `dataset: my_dataset
owner: me
row: Trace
columns: |
  Trace | Label(service) | RecordAs("service")
  Trace | Duration | RecordAs("latency_ns")
  Blocks | Filter(status = "error") | Count | RecordAs("errors")
`

// A dataset's definition: edit it, check its result and cost, save it, fill it from stored traces.
export function DefinitionEditor({ definition, standing, onSaved, after }: { definition: string; standing: boolean; onSaved: (name: string) => void; after?: (applied: ApplyAnswer) => React.ReactNode }) {
  const [text, setText] = useState(definition)
  const [applied, setApplied] = useState<ApplyAnswer | null>(null)
  const [fault, setFault] = useState<ApiError | null>(null)
  const [busy, setBusy] = useState(false)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const apply = async (how: 'check' | 'save' | 'force') => {
    running.current?.abort()
    const controller = (running.current = new AbortController())
    setBusy(true)
    setFault(null)
    setApplied(null)
    try {
      const answer = await applyDataset(text, how, controller.signal)
      setApplied(answer)
      if (answer.saved) onSaved(answer.dataset)
    } catch (cause) {
      if (controller.signal.aborted) return
      if (!(cause instanceof ApiError)) throw cause
      setFault(cause)
    } finally {
      if (running.current === controller) setBusy(false)
    }
  }
  // A valid definition above the cost limit can be applied with force.
  const tooCostly = fault !== null && /--force/.test(fault.hint)
  return (
    <div className="definition">
      <form className="sql" onSubmit={(event) => { event.preventDefault(); void apply('check') }}>
        <textarea
          className="mono"
          aria-label="Definition"
          spellCheck={false}
          rows={Math.min(28, Math.max(10, text.split('\n').length + 1))}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setApplied(null)
            setFault(null)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault()
              void apply('check')
            }
          }}
        />
        <div className="row">
          <button type="submit" className="button" disabled={busy || text.trim() === ''}>Check</button>
          <button type="button" className="button primary" disabled={busy || text.trim() === ''} onClick={() => void apply('save')}>Apply</button>
          {tooCostly && <button type="button" className="button" disabled={busy} onClick={() => void apply('force')}>Apply anyway</button>}
          {busy && <span className="muted" role="status">checking on the newest traces…</span>}
          {!busy && <span className="muted"><kbd>Ctrl</kbd><kbd>Enter</kbd> checks without saving.{standing && ' Applying replaces the standing definition.'}</span>}
        </div>
      </form>
      {fault && (
        <div className="diagnostics" role="alert">
          <pre className="bad">{fault.message}</pre>
          {fault.hint && <p><WithCode text={fault.hint} /></p>}
        </div>
      )}
      {applied && <TrialResult applied={applied} />}
      {applied?.saved && after?.(applied)}
    </div>
  )
}

function TrialResult({ applied }: { applied: ApplyAnswer }) {
  const t = applied.trial
  const own = applied.columns.slice(4) // after the columns that every dataset has
  return (
    <section className="trial" aria-label="Result of the check">
      <p role="status">
        <strong>{applied.saved ? `${applied.dataset} is saved.` : 'Not saved.'}</strong>{' '}
        {grouped(t.matched)} of the newest {count(t.traces, 'trace')} match: {count(t.rows, 'row')}, {Number(t.rows_per_trace.toFixed(2))} per trace, {duration(t.cost_ns_per_trace)} of CPU per trace
        {t.owner_cost_ns_per_trace > t.cost_ns_per_trace && <>, {duration(t.owner_cost_ns_per_trace)} with the other datasets of {applied.owner}</>}.
      </p>
      {t.unusable > 0 && <p className="bad">▲ No rows from {count(t.unusable, 'trace')} that broke a rule of the trace model.</p>}
      {t.over_budget > 0 && <p className="bad">▲ No rows from {count(t.over_budget, 'trace')} above the work limit per trace.</p>}
      {t.rows_dropped > 0 && <p className="bad">▲ {count(t.rows_dropped, 'row')} skipped: above the row limit per trace.</p>}
      <p className="muted">{own.map((c) => <span key={c.name} className="chip mono">{c.name}: {typeName(c.type)}</span>)}</p>
    </section>
  )
}

export function BackfillBox({ name, onDone }: { name: string; onDone: () => void }) {
  const [progress, setProgress] = useState<Progress | null>(null)
  const [result, setResult] = useState<BackfillAnswer | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const start = async () => {
    const controller = (running.current = new AbortController())
    setFault(null)
    setResult(null)
    setProgress({ done: 0, of: 1, total: { traces: 0, matched: 0, rows: 0, unusable: 0, over_budget: 0, rows_dropped: 0 } })
    try {
      setResult(await backfill(name, controller.signal, setProgress))
      onDone()
    } catch (cause) {
      if (controller.signal.aborted) setFault('Stopped. Rows added so far are kept; starting again creates no duplicates.')
      else if (cause instanceof ApiError) setFault(`${cause.message} ${cause.hint}`)
      else throw cause
    } finally {
      setProgress(null)
    }
  }
  return (
    <section className="backfill" aria-label="Backfill">
      {progress === null && (
        <div className="row">
          <button type="button" className="button" onClick={() => void start()}>{result ? 'Backfill again' : 'Backfill from stored traces'}</button>
          {!result && <span className="muted">A definition applies to new traces; backfill adds rows for stored ones.</span>}
        </div>
      )}
      {progress !== null && (
        <div className="row">
          <progress max={progress.of} value={progress.done} aria-label="Backfilling" />
          <span role="status">{Math.round((100 * progress.done) / progress.of)} %, {count(progress.total.traces, 'trace')}, {count(progress.total.rows, 'row')}</span>
          <button type="button" className="button" onClick={() => running.current?.abort()}>Stop</button>
        </div>
      )}
      {result && (
        <p role="status">
          {count(result.rows, 'row')} from {count(result.matched, 'trace')}; {count(result.traces, 'trace')} read.{' '}
          {result.over_budget > 0 && <span className="bad">▲ {count(result.over_budget, 'trace')} above the work limit. </span>}
          <a href={`/datasets/${encodeURIComponent(name)}`} onClick={followInPage}>Open {name}</a>
        </p>
      )}
      {fault && <p className="bad" role="alert">▲ {fault}</p>}
    </section>
  )
}
