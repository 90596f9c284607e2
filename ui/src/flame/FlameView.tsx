import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { getStacks } from '../api/client'
import { useAnswer } from '../api/use_answer'
import { saveCsv, savePng } from '../parts/canvas'
import { count, duration, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { Command, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { setParams } from '../shell/router'
import type { Clock, UnitInfo, Waterfall } from '../trace/waterfall_model'
import { FlameChart } from './FlameChart'
import { functionTotals, leftHeavy, samplesOf, sandwich, timeOrder, type Samples } from './flame_model'
import { FunctionTable } from './FunctionTable'

const MODES = [
  ['time', 'Time order'],
  ['heavy', 'Left heavy'],
  ['sandwich', 'Sandwich'],
] as const
type Mode = (typeof MODES)[number][0]

interface Props {
  w: Waterfall
  clock: Clock
  selected: number
  unitId: string | null
  mode: string | null
  frame: string | null
  find: string
  onSelect: (block: number) => void
}

export const unitLabel = (unit: UnitInfo): string =>
  [unit.name && unit.name !== unit.service ? `${unit.name} · ${unit.service}` : unit.service, unit.host, unit.thread && `thread ${unit.thread}`].filter(Boolean).join(' · ')

// Stack samples of one execution unit, three ways.
export function FlameView({ w, clock, selected, unitId, mode: wanted, frame, find }: Props) {
  const [reloads, setReloads] = useState(0)
  const sampled = useMemo(() => w.units.map((u, i) => ({ ...u, index: i })).filter((u) => u.samples > 0).sort((a, b) => b.samples - a.samples), [w])
  const { data, error, loading } = useAnswer(sampled.length ? `stacks ${w.traceId} ${clock}` : '', reloads, (signal) => (sampled.length ? getStacks(w.traceId, clock, signal) : Promise.resolve(null)))
  const mode: Mode = MODES.find(([name]) => name === wanted)?.[0] ?? 'time'
  const ofSelection = selected >= 0 ? sampled.find((u) => u.index === w.unit[selected]) : undefined
  const unit = sampled.find((u) => u.id === unitId) ?? ofSelection ?? sampled[0]
  const samples = useMemo(() => (data && unit ? samplesOf(data, unit.index) : null), [data, unit?.index])
  const root = useRef<HTMLDivElement>(null)
  // The chart takes the focus when it appears, so that 1, 2 and 3 work at once.
  useEffect(() => {
    if (samples) root.current?.querySelector<HTMLElement>('.flame-scroll')?.focus({ preventScroll: true })
  }, [samples === null])
  const setMode = (next: Mode) => setParams({ flame: next === 'time' ? null : next, ft: null })
  if (sampled.length === 0) {
    return (
      <div className="flame">
        <EmptyState title="No stack samples in this trace.">
          <p>A program that uses the client library records them after</p>
          <Command text="wherefore::start_stack_sampling(std::chrono::milliseconds(1));" />
          <p>Any other program can send them as events:</p>
          <Command text='{"type":"point","id2":"BLOCK","annotations":{"stack:cpu":"main;run;draw"}, …}' />
        </EmptyState>
      </div>
    )
  }
  return (
    <div
      className="flame"
      ref={root}
      onKeyDown={(event) => {
        const next = MODES[Number(event.key) - 1]
        const typing = event.target instanceof HTMLElement && event.target.closest('input, select')
        if (!next || typing || event.ctrlKey || event.metaKey || event.altKey) return
        event.preventDefault()
        event.stopPropagation()
        setMode(next[0])
      }}
    >
      <div className="flame-head">
        <label>Unit{' '}
          <select value={unit!.id} onChange={(event) => setParams({ unit: event.target.value, frame: null, ft: null })}>
            {sampled.map((u) => <option key={u.id} value={u.id}>{unitLabel(u)} ({count(u.samples, 'sample')})</option>)}
          </select>
        </label>
        <div className="segmented" role="group" aria-label="Flame chart">
          {MODES.map(([name, words], i) => <button key={name} type="button" aria-pressed={mode === name} title={`${words} (${i + 1})`} onClick={() => setMode(name)}>{words}</button>)}
        </div>
      </div>
      {error && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && !error && <Skeleton rows={8} label="Loading stack samples" />}
      {samples && <Charts w={w} samples={samples} mode={mode} frame={frame} find={find} />}
    </div>
  )
}

function Charts({ w, samples, mode, frame, find }: { w: Waterfall; samples: Samples; mode: Mode; frame: string | null; find: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const totals = useMemo(() => functionTotals(samples), [samples])
  const sampledNs = useMemo(() => samples.length.reduce((sum, l) => sum + l, 0), [samples])
  const chosen = frame === null ? -1 : samples.strings.indexOf(frame)
  const top = totals[0]
  const centre = mode === 'sandwich' ? (chosen >= 0 ? chosen : (top?.name ?? -1)) : -1
  const flat = useMemo(() => (mode === 'time' ? timeOrder(samples) : mode === 'heavy' ? leftHeavy(samples) : null), [samples, mode])
  const around = useMemo(() => (centre >= 0 ? sandwich(samples, centre) : null), [samples, centre])
  const [range, setRange] = useState(() => rangeFrom(new URLSearchParams(location.search).get('ft')))
  useEffect(() => setRange(rangeFrom(new URLSearchParams(location.search).get('ft'))), [mode, samples])
  const timer = useRef(0)
  const onRange = useCallback((next: { from: number; to: number } | null) => {
    setRange(next)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setParams({ ft: next ? `${Math.round(next.from)}-${Math.round(next.to)}` : null }), 200)
  }, [])
  useEffect(() => () => clearTimeout(timer.current), [])
  const select = (name: number) => setParams({ frame: name < 0 ? null : samples.strings[name]! })
  const fact = totals.find((t) => t.name === (mode === 'sandwich' ? centre : chosen))
  return (
    <>
      <p className="flame-answer">
        {top && (
          <button type="button" className="link-button strong" onClick={() => select(top.name)}>
            {percent(top.self, sampledNs)} of the {duration(sampledNs)} sampled: {samples.strings[top.name]} (own time)
          </button>
        )}
        <span className="dot" />
        {count(samples.taken, 'sample')}{samples.interval > 0 && `, usually ${duration(samples.interval)} apart`}
        {fact && fact !== top && <><span className="dot" /><span role="status">{samples.strings[fact.name]}: {duration(fact.total)} in total, own time {duration(fact.self)}</span></>}
        <span className="spring" />
        <button type="button" className="icon-button" aria-label="Save the chart as PNG" title="Save the chart as PNG" onClick={() => canvas.current && savePng(canvas.current, 'Stack samples', `flame-${w.traceId}.png`)}><Icon name="image" /></button>
        <button type="button" className="button quiet" onClick={() => saveCsv([['function', 'total_ns', 'self_ns'], ...totals.map((t) => [samples.strings[t.name]!, t.total, t.self])], `functions-${w.traceId}.csv`)}><Icon name="download" size={14} /> CSV</button>
      </p>
      {flat && (
        <FlameChart
          boxes={flat} strings={samples.strings} origin={mode === 'time' ? w.times.aligned.from : null} range={range} onRange={onRange} canvasRef={canvas}
          label={mode === 'time' ? 'Stack samples in time order' : 'Stack samples merged, largest on the left'} selected={chosen} find={find} onSelect={select}
        />
      )}
      {mode === 'sandwich' && (
        <div className="sandwich">
          <FunctionTable strings={samples.strings} totals={totals} whole={sampledNs} selected={centre} find={find} onSelect={select} />
          {around && (
            <div className="sandwich-charts">
              <h3>Callers of {samples.strings[centre]}</h3>
              <FlameChart boxes={around.callers} strings={samples.strings} label="Callers" origin={null} range={null} onRange={() => undefined} selected={-1} find={find} onSelect={select} />
              <h3>{samples.strings[centre]} and what it calls</h3>
              <FlameChart boxes={around.callees} strings={samples.strings} label="Callees" origin={null} range={range} onRange={onRange} selected={-1} find={find} onSelect={select} canvasRef={canvas} />
            </div>
          )}
        </div>
      )}
    </>
  )
}

function rangeFrom(text: string | null): { from: number; to: number } | null {
  const match = /^(-?\d+)-(\d+)$/.exec(text ?? '')
  return match && Number(match[2]) > Number(match[1]) ? { from: Number(match[1]), to: Number(match[2]) } : null
}
