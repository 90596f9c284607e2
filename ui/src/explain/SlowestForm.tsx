import { useEffect, useId, useState } from 'react'
import { getOperations, getServices } from '../api/client'
import { useAnswer } from '../api/use_answer'
import { recentTraces } from '../shell/recent'
import { followInPage, navigate } from '../shell/router'
import { traceIdOf } from '../shell/trace_id'
import { DEFAULT_SINCE, DEFAULT_SLOWEST } from './explain_query'

// For an on-call engineer without a trace id: a service, an operation and how many of the slowest requests.
export function SlowestForm({ params }: { params: URLSearchParams }) {
  const [service, setService] = useState(params.get('service') ?? '')
  const [operation, setOperation] = useState(params.get('operation') ?? '')
  const [slowest, setSlowest] = useState(params.get('slowest') ?? String(DEFAULT_SLOWEST))
  const services = useAnswer('services', 0, getServices)
  const operations = useAnswer(`operations ${service}`, 0, async (signal) => (service ? [...new Set((await getOperations(service, signal)).map((o) => o.name))].sort() : []))
  const given = `${params.get('service') ?? ''}\n${params.get('operation') ?? ''}\n${params.get('slowest') ?? ''}`
  useEffect(() => {
    setService(params.get('service') ?? '')
    setOperation(params.get('operation') ?? '')
    setSlowest(params.get('slowest') ?? String(DEFAULT_SLOWEST))
    // When the URL changes, the fields follow it.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [given])
  const valid = service !== '' && operation !== '' && /^[1-9]\d{0,3}$/.test(slowest)
  const withGiven = (list: string[], value: string) => (value && !list.includes(value) ? [value, ...list] : list)
  return (
    <form
      className="slowest-form"
      aria-label="Which requests"
      onSubmit={(event) => {
        event.preventDefault()
        if (!valid) return
        const next = new URLSearchParams({ service, operation, since: params.get('since') ?? DEFAULT_SINCE })
        if (params.get('until')) next.set('until', params.get('until')!)
        if (Number(slowest) !== DEFAULT_SLOWEST) next.set('slowest', slowest)
        navigate(`/explain?${next}`)
      }}
    >
      <label>Service{' '}
        <select value={service} onChange={(event) => { setService(event.target.value); setOperation('') }}>
          <option value="">choose…</option>
          {withGiven(services.data ?? [], service).map((s) => <option key={s}>{s}</option>)}
        </select>
      </label>
      <label>Operation{' '}
        <select value={operation} disabled={!service} onChange={(event) => setOperation(event.target.value)}>
          <option value="">choose…</option>
          {withGiven(operations.data ?? [], operation).map((o) => <option key={o}>{o}</option>)}
        </select>
      </label>
      <label>Slowest <input type="number" min={1} max={1000} value={slowest} onChange={(event) => setSlowest(event.target.value)} /></label>
      <button type="submit" className="button primary" disabled={!valid}>Explain</button>
      {(services.error ?? operations.error) && <span className="filter-reason" role="status">{(services.error ?? operations.error)!.message}</span>}
    </form>
  )
}

// Shown on the Explain page before anything is chosen.
export function TraceForm() {
  const [text, setText] = useState('')
  const id = useId()
  const wanted = traceIdOf(text.trim())
  const recent = recentTraces()
  return (
    <>
      <form className="open-trace" onSubmit={(event) => { event.preventDefault(); if (wanted) navigate(`/explain/${wanted}`) }}>
        <label htmlFor={id}>Or explain one request by its trace id</label>
        <div className={`filter-box filter-${text === '' ? 'empty' : wanted ? 'good' : 'bad'}`}>
          <input id={id} className="mono" type="text" aria-invalid={text !== '' && !wanted} placeholder="trace id, 32 hexadecimal digits" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
          <button type="submit" className="button primary" disabled={!wanted}>Explain request</button>
        </div>
      </form>
      {recent.length > 0 && (
        <>
          <h2 className="section">Recently opened</h2>
          <ul className="recent">
            {recent.map((t) => (
              <li key={t.id}>
                <a href={`/explain/${t.id}`} onClick={followInPage}>{t.label}</a>
                <span className="num">{t.took}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
