import { useEffect, useState } from 'react'
import { ApiError } from '../api/client'
import { listDashboards, putDashboard } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { count, dateTime, instantTitle } from '../parts/format'
import { EmptyState, ErrorState, Skeleton } from '../parts/states'
import { followInPage, navigate } from '../shell/router'
import { nameFrom } from './dashboard_name'

// The saved dashboards of this tenant.
export function DashboardsView() {
  const [reloads, setReloads] = useState(0)
  const { data, error, loading } = useAnswer('dashboards', reloads, listDashboards)
  useEffect(() => {
    document.title = 'Dashboards · wherefore'
  }, [])
  return (
    <div className="page">
      <header className="answer with-tools">
        <h1>{data ? count(data.length, 'dashboard') : error ? 'Could not list the dashboards' : 'Dashboards'}</h1>
        {data && <NewDashboard names={data.map((d) => d.name)} />}
      </header>
      {error && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && <Skeleton rows={6} label="Loading the dashboards" />}
      {data && data.length === 0 && (
        <EmptyState title="No dashboards yet.">
          <p>Open a <a href="/datasets" onClick={followInPage}>dataset</a>, make a chart, and add it with “+ Dashboard”.</p>
        </EmptyState>
      )}
      {data && data.length > 0 && (
        <div className="table-box" tabIndex={0} role="region" aria-label="Dashboards">
          <table className="grid">
            <thead><tr><th>Dashboard</th><th className="right">Charts</th><th>Changed</th></tr></thead>
            <tbody>
              {data.map((d) => (
                <tr key={d.name}>
                  <td><a href={`/dashboards/${encodeURIComponent(d.name)}`} onClick={followInPage}><strong>{d.title}</strong></a></td>
                  <td className="num right">{d.charts}</td>
                  <td className="num" title={instantTitle(d.changedNs)}>{dateTime(d.changedNs).slice(0, 19)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}

function NewDashboard({ names }: { names: string[] }) {
  const [title, setTitle] = useState('')
  const [fault, setFault] = useState('')
  const name = nameFrom(title)
  const create = async () => {
    if (names.includes(name)) return navigate(`/dashboards/${name}`)
    try {
      await putDashboard({ name, title: title.trim(), charts: [], revision: '' })
      navigate(`/dashboards/${name}`)
    } catch (cause) {
      setFault(cause instanceof ApiError ? cause.message : String(cause))
    }
  }
  return (
    <form className="row" onSubmit={(event) => { event.preventDefault(); void create() }}>
      <input type="text" className="field" aria-label="Title of a new dashboard" placeholder="New dashboard" value={title} onChange={(event) => setTitle(event.target.value)} />
      <button type="submit" className="button" disabled={name === ''}>Create</button>
      {fault && <span className="bad" role="alert">▲ {fault}</span>}
    </form>
  )
}
