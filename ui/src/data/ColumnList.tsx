import { useState } from 'react'
import type { UsedColumn } from '../api/datasets'
import { count } from '../parts/format'
import { followInPage } from '../shell/router'
import { datasetUrl } from './chart_query'
import { isNumeric, typeName } from './values'

// The columns, most used first. A number links to its distribution, a text to its breakdown.
export function ColumnList({ dataset, columns }: { dataset: string; columns: UsedColumn[] }) {
  const [find, setFind] = useState('')
  const shown = columns.filter((c) => c.name.toLowerCase().includes(find.toLowerCase()))
  const linkOf = (c: UsedColumn) => {
    if (c.type === 'stack') return `/compare?${new URLSearchParams({ dataset, show: 'flame', stack: c.name })}`
    return datasetUrl(dataset, new URLSearchParams(isNumeric(c) ? { chart: 'distribution', metric: c.name } : { chart: 'breakdown', group_by: c.name, agg: 'count' }))
  }
  return (
    <aside className="column-list" aria-label="Columns">
      <h2>{count(columns.length, 'column')}</h2>
      {columns.length > 12 && <input type="search" aria-label="Find a column" placeholder="Find a column" value={find} onChange={(event) => setFind(event.target.value)} />}
      <ul>
        {shown.slice(0, 400).map((c) => (
          <li key={c.name}>
            <a href={linkOf(c)} onClick={followInPage} title={`${c.name}, ${typeName(c.type)}, used in ${count(c.queries, 'query', 'queries')}`}>{c.name}</a>
            <span className="muted">{typeName(c.type)}</span>
            <span className="num muted">{c.queries > 0 && <>{c.queries}<span className="sr-only"> {c.queries === 1 ? 'query' : 'queries'}</span></>}</span>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="muted">No column matches.</p>}
    </aside>
  )
}
