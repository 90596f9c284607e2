import { useState } from 'react'
import { queryDataset, type UsedColumn } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { count } from '../parts/format'
import { Icon } from '../parts/Icon'
import { ErrorState, Skeleton } from '../parts/states'
import { followInPage, setParams } from '../shell/router'
import { behindParams, type ChartQuery } from './chart_query'
import { parseConditions } from './condition_language'
import { DataTable } from './DataTable'
import { formatCell } from './values'

// A mark's condition for reading, with instants as times.
export function readableCondition(where: string): string {
  const parsed = parseConditions(where, null)
  if (!parsed.ok) return where
  return parsed.conditions
    .map((c) => {
      const value = c.values.map((v) => (/^\d{16,}$/.test(v) && c.column === 'time_ns' ? formatCell({ name: 'time_ns', type: 'int' }, BigInt(v)) : /^-?[\d.]+$/.test(v) ? formatCell({ name: c.column, type: 'double' }, Number(v)) : v)).join(', ')
      return `${c.negated ? 'not ' : ''}${c.column === 'time_ns' ? 'time' : c.column} ${c.op}${value ? ` ${c.op === 'in' ? `(${value})` : value}` : ''}`
    })
    .join(' and ')
}

// The rows behind a mark of the chart above, largest value first.
export function BehindMark({ dataset, query, mark, columns, compareUrl }: { dataset: string; query: ChartQuery; mark: string; columns: UsedColumn[]; compareUrl: string }) {
  const [reloads, setReloads] = useState(0)
  const params = behindParams(query, mark, columns)
  const { data, error, loading } = useAnswer(`behind ${dataset} ${params}`, reloads, (signal) => queryDataset(dataset, params, signal))
  const traces = data ? new Set(data.rows.map((row) => row[data.columns.findIndex((c) => c.name === 'trace_id')])).size : 0
  return (
    <section className="behind" aria-label="Rows behind this point">
      <header className="behind-head">
        <p>
          <strong>{data ? `${data.more ? 'First ' : ''}${count(data.rows.length, 'row')} of ${count(traces, 'trace')}` : 'Rows'}</strong> with {readableCondition(mark)}
          {query.metric && data && data.rows.length > 1 ? `, by ${query.metric}` : ''}
        </p>
        <a className="button quiet" href={compareUrl} onClick={followInPage}>What is different here?</a>
        <button type="button" className="button quiet" onClick={() => setParams({ mark: null }, 'push')}><Icon name="close" size={12} /> Back to the table</button>
      </header>
      {error && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && <Skeleton rows={4} label="Loading the rows" />}
      {data && data.rows.length === 0 && <p className="muted pad">No rows; retention may have removed them.</p>}
      {data && data.rows.length > 0 && <DataTable rows={data} label="Rows behind this point" />}
    </section>
  )
}
