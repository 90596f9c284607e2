import { useEffect, useState } from 'react'
import { runSql, type UsedColumn } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { saveCsv } from '../parts/canvas'
import { count } from '../parts/format'
import { Icon } from '../parts/Icon'
import { CopyButton, ErrorState, Skeleton } from '../parts/states'
import { navigate } from '../shell/router'
import { datasetUrl } from './chart_query'
import { quoteText } from './condition_language'
import { DataTable } from './DataTable'
import { usualGroup, usualMetric } from './values'

const ident = (name: string) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteText(name))

function example(dataset: string, columns: UsedColumn[]): string {
  const metric = usualMetric(columns)
  const group = usualGroup(columns)
  const of = metric ? `,\n       quantile_cont(${ident(metric)}, 0.95) AS p95` : ''
  return group ? `SELECT ${ident(group)}, count(*) AS n${of}\nFROM ${ident(dataset)}\nGROUP BY 1\nORDER BY 2 DESC\nLIMIT 100` : `SELECT count(*) AS n${of}\nFROM ${ident(dataset)}`
}

// SQL over the tenant's datasets, run by the server in a separate process. The URL holds the statement once it ran.
export function SqlBox({ dataset, sql, columns }: { dataset: string; sql: string; columns: UsedColumn[] }) {
  const [text, setText] = useState(sql || example(dataset, columns))
  const [reloads, setReloads] = useState(0)
  useEffect(() => {
    if (sql) setText(sql)
  }, [sql])
  const run = () => {
    if (text.trim() === sql) setReloads((n) => n + 1)
    else navigate(datasetUrl(dataset, new URLSearchParams({ sql: text.trim() })))
  }
  return (
    <>
      <form className="sql" onSubmit={(event) => { event.preventDefault(); run() }}>
        <textarea
          className="mono"
          aria-label="SQL"
          spellCheck={false}
          rows={Math.min(14, Math.max(5, text.split('\n').length + 1))}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault()
              run()
            }
          }}
        />
        <div className="row">
          <button type="submit" className="button primary" disabled={text.trim() === ''}>Run</button>
          <span className="muted"><kbd>Ctrl</kbd><kbd>Enter</kbd> runs it. Each dataset is a table; read-only; limit 30 s.</span>
        </div>
      </form>
      {sql !== '' && <SqlAnswer sql={sql} reloads={reloads} onReload={() => setReloads((n) => n + 1)} />}
    </>
  )
}

function SqlAnswer({ sql, reloads, onReload }: { sql: string; reloads: number; onReload: () => void }) {
  const { data, error, loading } = useAnswer(`sql ${sql}`, reloads, (signal) => runSql(sql, signal))
  const command = `wherefore dataset sql '${sql.replace(/'/g, `'\\''`)}'`
  if (error) return <ErrorState error={error} onRetry={onReload} />
  if (!data) return loading ? <Skeleton rows={6} label="Running the statement" /> : null
  return (
    <section className="panel-chart" aria-label="Result">
      <header className="chart-head">
        <div className="chart-say"><p className="sentence">{count(data.rows.length, 'row')}{data.more && ', truncated'}{data.dialect && <span className="muted"> · dialect {data.dialect}</span>}</p></div>
        <button type="button" className="icon-button" aria-label="Save as CSV" title="Save as CSV" onClick={() => saveCsv([data.columns.map((c) => c.name), ...data.rows.map((row) => row.map((c) => (c === null ? '' : typeof c === 'boolean' ? String(c) : c)))], 'sql.csv')}><Icon name="download" /></button>
        <CopyButton text={command} label="Copy the command" />
      </header>
      {data.rows.length === 0 ? <p className="muted pad">The statement returned no rows.</p> : <DataTable rows={data} label="Rows of the statement" fill />}
    </section>
  )
}
