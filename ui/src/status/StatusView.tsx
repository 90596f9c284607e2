import { useEffect, useRef, useState } from 'react'
import { getStatus } from '../api/client'
import { ns, type ExactInt } from '../api/exact_json'
import type { StatusAnswer } from '../api/types'
import { useAnswer } from '../api/use_answer'
import { bytes, count, dateTime, duration, grouped, instantTitle } from '../parts/format'
import { Icon } from '../parts/Icon'
import { Command, ErrorState, Skeleton } from '../parts/states'
import { describeLosses, isLoss, isRefusal, isRepair } from './losses'
import { TailerCard } from './TailerCard'

const EVERY_MS = 3000

const number = (value: unknown): number => {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? Number(value.replace(/^\u0000/, '')) || 0 : 0
}

// The server's health: what is stored, losses and repairs by name, and listeners.
export function StatusView() {
  const [tick, setTick] = useState(0)
  const [paused, setPaused] = useState(false)
  const { data, error, loading } = useAnswer('status', tick, getStatus)
  const before = useRef<{ spans: number; uptime: number } | null>(null)
  const [rate, setRate] = useState<number | null>(null)
  useEffect(() => {
    document.title = 'Status · wherefore'
  }, [])
  useEffect(() => {
    // Polls some time after each answer, so that a slow server can answer at all.
    if (paused || loading) return
    const timer = setInterval(() => document.visibilityState === 'visible' && setTick((n) => n + 1), EVERY_MS)
    return () => clearInterval(timer)
  }, [paused, loading])
  useEffect(() => {
    if (!data) return
    const now = { spans: number(data.store.spans), uptime: Number(ns(data.uptime_ns)) }
    const old = before.current
    if (old && now.uptime > old.uptime) setRate(Math.max(0, ((now.spans - old.spans) / (now.uptime - old.uptime)) * 1e9))
    before.current = now
  }, [data])
  if (!data) return error ? <ErrorState error={error} onRetry={() => setTick((n) => n + 1)} /> : <Skeleton rows={10} label="Loading the status" />

  const counters = Object.entries(data.counters)
  const repairs = counters.filter(([name]) => isRepair(name))
  const losses = counters.filter(([name]) => isLoss(name))
  const refusals = counters.filter(([name]) => isRefusal(name))
  const rest = counters.filter(([name]) => !isRepair(name) && !isLoss(name) && !isRefusal(name))
  const refused = refusals.reduce((sum, [, n]) => sum + n, 0)
  const lost = losses.some(([, n]) => n > 0)
  return (
    <div className="page status">
      <header className="answer with-tools">
        <div>
          <h1>
            {lost ? <span className="bad">▲ {describeLosses(losses)}</span> : 'No data lost'}
          </h1>
          <p>
            {count(number(data.store.spans), 'span')} in {count(number(data.store.traces), 'trace')}, {bytes(number(data.store.disk_bytes))} on disk
            <span className="dot" />up for {duration(Number(ns(data.uptime_ns)))}
            <span className="dot" />version {data.version}
            <span className="dot" />{rate === null ? 'measuring the rate…' : `${grouped(Math.round(rate))} spans/s now`}
            {refused > 0 && <><span className="dot" />{count(refused, 'request')} refused</>}
            {error && <><span className="dot" /><span className="bad">▲ {error.message}</span></>}
          </p>
        </div>
        <button type="button" className="button quiet" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          <Icon name={paused ? 'play' : 'pause'} size={14} /> {paused ? 'Resume' : 'Pause'}
        </button>
      </header>
      <div className="columns">
        <Card title="Store"><StoreFacts status={data} /></Card>
        <Card title="Losses"><Counters list={losses} none="Nothing was dropped or rejected." mark /></Card>
        <Card title="Listeners">
          <table className="kv">
            <tbody>
              {data.listeners.map((l) => <tr key={l.name}><th scope="row">{l.name}</th><td className="mono">{l.address}</td></tr>)}
            </tbody>
          </table>
          <Exporter status={data} />
        </Card>
        {data.tailer && <Card title="Tailer"><TailerCard tailer={data.tailer} /></Card>}
        <Card title="Repairs"><Counters list={repairs} none="No repairs." /></Card>
        <Card title="Refused requests"><Counters list={refusals} none="No request was refused." /></Card>
        <Card title="Other counters"><Counters list={rest} none="None." /></Card>
        {data.retention && (
          <Card title="Retention">
            <table className="kv"><tbody>{Object.entries(data.retention).map(([k, v]) => <tr key={k}><th scope="row">{k.replace(/_ns$/, '').replace(/_/g, ' ')}</th><td className="num">{retentionValue(k, v)}</td></tr>)}</tbody></table>
          </Card>
        )}
      </div>
    </div>
  )
}

function retentionValue(key: string, value: unknown): string {
  if (value === null || value === undefined || value === 0 || value === '') return 'unlimited'
  if (/bytes/.test(key)) return bytes(number(value))
  if (typeof value === 'string' && !/^\u0000/.test(value)) return value
  if (/_ns$/.test(key)) return duration(number(value))
  return typeof value === 'boolean' ? String(value) : grouped(number(value))
}

function Card({ title, children }: { title: string; children: React.ReactNode }) {
  return <section className="card" aria-label={title}><h2>{title}</h2>{children}</section>
}

function StoreFacts({ status }: { status: StatusAnswer }) {
  return (
    <table className="kv">
      <tbody>
        {Object.entries(status.store).map(([key, value]) => (
          <tr key={key}>
            <th scope="row">{key.replace(/_ns$/, '').replace(/_/g, ' ')}</th>
            <td className="num" title={/_ns$/.test(key) && value ? instantTitle(ns(value as ExactInt)) : undefined}>{storeValue(key, value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function storeValue(key: string, value: unknown): string {
  if (value === null || value === undefined) return '–'
  if (/_ns$/.test(key)) return number(value) === 0 ? '–' : dateTime(ns(value as ExactInt))
  if (/bytes/.test(key)) return bytes(number(value))
  if (typeof value === 'string' && !/^\u0000/.test(value)) return value
  return grouped(number(value))
}

function Counters({ list, none, mark = false }: { list: [string, number][]; none: string; mark?: boolean }) {
  const shown = list.filter(([, n]) => n > 0)
  const zero = list.length - shown.length
  return (
    <>
      {shown.length === 0 ? <p className="muted">{none}</p> : (
        <table className="kv"><tbody>{shown.map(([name, n]) => <tr key={name}><th scope="row" className="mono" title={name}>{name}</th><td className={`num ${mark ? 'bad' : ''}`}>{grouped(n)}</td></tr>)}</tbody></table>
      )}
      {zero > 0 && shown.length > 0 && <p className="muted small">{zero} more at zero</p>}
    </>
  )
}

function Exporter({ status }: { status: StatusAnswer }) {
  const otlp = status.listeners.find((l) => /otlp.*http/i.test(l.name) && l.address !== 'off')
  if (!otlp) return null
  return (
    <div className="section">
      <p className="muted small">Point an OpenTelemetry exporter here:</p>
      <Command text={`export OTEL_EXPORTER_OTLP_ENDPOINT=${otlp.address.includes('://') ? otlp.address : `http://${otlp.address}`}`} />
    </div>
  )
}
