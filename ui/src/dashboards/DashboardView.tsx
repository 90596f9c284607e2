import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/client'
import { deleteDashboard, getColumns, getDashboard, isConflict, listDatasets, putDashboard, type Dashboard, type DatasetSummary, type SavedChart, type UsedColumn } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { ChartPanel } from '../data/ChartPanel'
import { completeQuery, datasetUrl, queryFromParams, STANDARD_RANGE } from '../data/chart_query'
import { count } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { rangeFromParams } from '../search/time_range'
import { TimeRangePicker } from '../search/TimeRangePicker'
import { followInPage, navigate, useRoute } from '../shell/router'

// A grid of saved charts. A time range in the URL applies to all of them; without one each uses its own.
export function DashboardView({ name }: { name: string }) {
  const { params } = useRoute()
  const [reloads, setReloads] = useState(0)
  const [editing, setEditing] = useState(false)
  const [fault, setFault] = useState<string | null>(null)
  const [changed, setChanged] = useState<Dashboard | null>(null)
  const [refused, setRefused] = useState<Dashboard | null>(null) // a save that the server refused because of a newer version
  const { data, error } = useAnswer(`dashboard ${name}`, reloads, async (signal) => {
    const [board, datasets] = await Promise.all([getDashboard(name, signal), listDatasets(signal)])
    return { board, datasets }
  })
  const board = changed ?? data?.board ?? null
  // Saves run one after the other, each on top of the one before, so that a reader's own quick changes do not conflict.
  const saves = useRef(Promise.resolve())
  const revision = useRef<string | null>(null)
  useEffect(() => {
    document.title = `${board?.title ?? name} · wherefore`
  }, [board?.title, name])
  const range = rangeFromParams(params, STANDARD_RANGE)
  if (!data || !board) {
    return error ? <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)}><a className="button" href="/dashboards" onClick={followInPage}>All dashboards</a></ErrorState> : <Skeleton rows={10} label="Loading the dashboard" />
  }
  const save = (next: Dashboard, over: Parameters<typeof putDashboard>[1] = 'what-was-read') => {
    const before = board
    setChanged(next)
    setRefused(null)
    saves.current = saves.current.then(async () => {
      try {
        const saved = await putDashboard({ ...next, revision: revision.current ?? next.revision }, over)
        revision.current = saved.revision
        setChanged((shown) => (shown === next ? saved : shown))
        setFault(null)
      } catch (cause) {
        if (isConflict(cause)) return setRefused(next)
        setChanged((shown) => (shown === next ? before : shown))
        setFault(cause instanceof ApiError ? `${cause.message} ${cause.hint}` : String(cause))
      }
    })
  }
  const reload = () => {
    revision.current = null
    setRefused(null)
    setChanged(null)
    setReloads((n) => n + 1)
  }
  const edit = (change: (charts: SavedChart[]) => void) => {
    const charts = board.charts.map((c) => ({ ...c }))
    change(charts)
    save({ ...board, charts })
  }
  const remove = async () => {
    if (!confirm(`Delete the dashboard “${board.title}”?`)) return
    try {
      await deleteDashboard(name)
      navigate('/dashboards')
    } catch (cause) {
      setFault(cause instanceof ApiError ? cause.message : String(cause))
    }
  }
  return (
    <div className="page dashboard">
      <header className="dataset-head">
        <div className="answer">
          {editing ? <input key={board.title} className="field title-field" aria-label="Title" defaultValue={board.title} onBlur={(event) => event.target.value.trim() && event.target.value !== board.title && save({ ...board, title: event.target.value.trim() })} /> : <h1>{board.title}</h1>}
          <p className="facts-line">
            {count(board.charts.length, 'chart')}
            <span className="dot" />
            <button type="button" className="link-button" aria-pressed={editing} onClick={() => setEditing(!editing)}>{editing ? 'Done' : 'Edit'}</button>
            <span className="dot" />
            Link <CopyButton text={location.href} label="Copy the link to this dashboard" />
            {editing && <><span className="dot" /><button type="button" className="link-button bad" onClick={() => void remove()}>Delete</button></>}
          </p>
        </div>
        <TimeRangePicker key={`${range.since} ${range.until}`} range={range} standard={STANDARD_RANGE} />
      </header>
      {fault && <p className="banner banner-warn" role="alert">▲ {fault}</p>}
      {refused && (
        <p className="banner banner-warn" role="alert">
          ▲ Somebody else saved this dashboard after you opened it. Your change is not saved.{' '}
          <button type="button" className="button" onClick={reload}>Load theirs</button>{' '}
          <button type="button" className="button" onClick={() => save(refused, 'whatever-there-is')}>Overwrite with mine</button>
        </p>
      )}
      {board.charts.length === 0 && (
        <EmptyState title="This dashboard is empty."><p>Open a <a href="/datasets" onClick={followInPage}>dataset</a>, make a chart, and add it with “+ Dashboard”.</p></EmptyState>
      )}
      <div className="tiles">
        {board.charts.map((chart, i) => (
          <Tile
            key={`${i} ${chart.dataset} ${chart.query}`}
            chart={chart}
            summary={data.datasets.find((d) => d.name === chart.dataset) ?? null}
            range={params.get('since') || params.get('until') ? range : null}
            reloads={reloads}
            tools={editing && (
              <span className="tile-tools">
                <button type="button" className="icon-button small" aria-label={`Move ${chart.title} forward`} disabled={i === 0} onClick={() => edit((c) => c.splice(i - 1, 0, ...c.splice(i, 1)))}><Icon name="up" size={12} /></button>
                <button type="button" className="icon-button small" aria-label={`Move ${chart.title} back`} disabled={i === board.charts.length - 1} onClick={() => edit((c) => c.splice(i + 1, 0, ...c.splice(i, 1)))}><Icon name="down" size={12} /></button>
                <button type="button" className="button quiet" aria-pressed={chart.wide} onClick={() => edit((c) => { c[i]!.wide = !c[i]!.wide })}>wide</button>
                <button type="button" className="icon-button small" aria-label={`Remove ${chart.title}`} onClick={() => edit((c) => c.splice(i, 1))}><Icon name="close" size={12} /></button>
              </span>
            )}
          />
        ))}
      </div>
    </div>
  )
}

interface TileProps {
  chart: SavedChart
  summary: DatasetSummary | null
  range: { since: string; until: string | null } | null
  reloads: number
  tools: React.ReactNode
}

function Tile({ chart, summary, range, reloads, tools }: TileProps) {
  const { data: columns, error } = useAnswer(`columns ${chart.dataset}`, reloads, (signal): Promise<UsedColumn[]> => getColumns(chart.dataset, signal))
  const params = new URLSearchParams(chart.query)
  if (range) {
    params.set('since', range.since)
    if (range.until) params.set('until', range.until)
    else params.delete('until')
    params.delete('bucket')
  }
  const url = datasetUrl(chart.dataset, params)
  const className = `tile-box ${chart.wide ? 'tile-wide' : ''}`
  if (!columns) {
    return (
      <div className={className}>
        <section className="panel-chart tile" aria-label={chart.title}>
          <header className="chart-head"><div className="chart-say"><h2>{chart.title}</h2></div>{tools}</header>
          {error ? <p className="bad pad" role="alert">▲ {error.message} <span className="muted">{error.hint}</span></p> : <Skeleton rows={5} label={`Loading ${chart.title}`} />}
        </section>
      </div>
    )
  }
  const query = completeQuery(queryFromParams(params), columns, summary, Date.now())
  return (
    <div className={className}>
      <ChartPanel
        dataset={chart.dataset}
        query={query}
        title={chart.title}
        reloads={reloads}
        tile
        tools={<>{tools}<a className="icon-button" href={url} aria-label={`Open ${chart.title}`} title="Open" onClick={followInPage}><Icon name="goto" /></a></>}
        onPick={(mark) => {
          const behind = new URLSearchParams(params)
          behind.set('mark', mark.where)
          navigate(datasetUrl(chart.dataset, behind))
        }}
      />
    </div>
  )
}
