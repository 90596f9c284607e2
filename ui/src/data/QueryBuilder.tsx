import type { UsedColumn } from '../api/datasets'
import { parseDuration } from '../parts/format'
import { AGGREGATES, type ChartQuery } from './chart_query'
import { quoteKey } from './condition_language'
import { INSTANT, isNumeric } from './values'

interface Props {
  // The query with defaults filled in; `urlQuery` is what the URL says.
  query: ChartQuery
  urlQuery: ChartQuery
  columns: UsedColumn[]
  onChange: (changes: Partial<ChartQuery>) => void
}

const BUCKETS = ['1s', '10s', '1m', '5m', '10m', '30m', '1h', '6h', '24h']

function readAggregate(agg: string): { fn: string; column: string } {
  const match = /^([\w.]+)\("?(.*?)"?\)$/.exec(agg)
  return match ? { fn: match[1]!, column: match[2]! } : { fn: agg, column: '' }
}

// The query apart from its filter: the aggregate, its column, the groups and the time step.
export function QueryBuilder({ query, urlQuery, columns, onChange }: Props) {
  const { fn, column } = readAggregate(query.agg)
  const numbers = columns.filter((c) => isNumeric(c) && c.name !== INSTANT)
  const groups = columns.filter((c) => c.type !== 'stack' && c.name !== INSTANT)
  const values = query.kind === 'heat' || query.kind === 'distribution'
  const aggregate = (f: string, c: string) => {
    const of = f === 'count' ? '' : c || query.metric || numbers[0]?.name || columns[0]?.name || ''
    onChange({ agg: f === 'count' ? 'count' : `${f}(${quoteKey(of)})`, metric: of && numbers.some((n) => n.name === of) ? of : urlQuery.metric })
  }
  const setGroup = (place: number, name: string) => {
    const next = [...query.groupBy]
    if (name) next[place] = name
    else next.splice(place, 1)
    onChange({ groupBy: [...new Set(next.filter(Boolean))] })
  }
  const places = query.kind === 'series' ? 1 : query.kind === 'pivot' ? 2 : Math.min(4, query.groupBy.length + 1)
  if (query.kind === 'rows') return null
  return (
    <div className="builder" role="group" aria-label="Query">
      {values ? (
        <>
          <Choice label="of" value={query.metric} options={numbers.map((c) => c.name)} onChange={(metric) => onChange({ metric })} />
          <div className="segmented" role="group" aria-label="Value axis">
            <button type="button" aria-pressed={!query.linear} onClick={() => onChange({ linear: false })}>log</button>
            <button type="button" aria-pressed={query.linear} onClick={() => onChange({ linear: true })}>linear</button>
          </div>
        </>
      ) : (
        <>
          <Choice label="show" value={fn} options={AGGREGATES.includes(fn as (typeof AGGREGATES)[number]) ? [...AGGREGATES] : [fn, ...AGGREGATES]} onChange={(f) => aggregate(f, column)} />
          {fn !== 'count' && <Choice label="of" value={column} options={(fn === 'distinct' ? columns : numbers).map((c) => c.name)} onChange={(c) => aggregate(fn, c)} />}
          {Array.from({ length: places }, (_, i) => (
            <Choice key={i} label={i === 0 ? 'by' : query.kind === 'pivot' ? 'across' : 'and'} value={query.groupBy[i] ?? ''} none={query.kind === 'pivot' ? undefined : 'nothing'} options={groups.map((c) => c.name)} onChange={(name) => setGroup(i, name)} />
          ))}
          {query.kind === 'series' && <Choice label="in steps of" value={urlQuery.bucket} none={`auto (${query.bucket})`} options={urlQuery.bucket && !BUCKETS.includes(urlQuery.bucket) && parseDuration(urlQuery.bucket) ? [urlQuery.bucket, ...BUCKETS] : BUCKETS} onChange={(bucket) => onChange({ bucket })} />}
        </>
      )}
    </div>
  )
}

export function Choice({ label, value, options, none, onChange }: { label: string; value: string; options: string[]; none?: string; onChange: (value: string) => void }) {
  return (
    <label className="choice">
      <span className="muted">{label}</span>
      <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {none === undefined && value === '' && <option value="">choose…</option>}
        {options.map((o) => <option key={o} value={o}>{o}</option>)}
      </select>
    </label>
  )
}
