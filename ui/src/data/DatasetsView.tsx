import { lazy, Suspense, useEffect, useState } from 'react'
import { listDatasets, type DatasetSummary } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { bytes, count, dateTime, duration, grouped, instantTitle } from '../parts/format'
import { Command, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { followInPage, useRoute } from '../shell/router'

const editor = () => import('./DefinitionEditor')
const NewDefinition = lazy(async () => {
  const { BackfillBox, DefinitionEditor, TEMPLATE } = await editor()
  return {
    default: ({ onSaved }: { onSaved: () => void }) => (
      <DefinitionEditor definition={TEMPLATE} standing={false} onSaved={onSaved} after={({ dataset }) => <BackfillBox key={dataset} name={dataset} onDone={onSaved} />} />
    ),
  }
})

// All datasets with their size, newest row and cost.
export function DatasetsView() {
  const { params } = useRoute()
  const making = params.get('new') !== null
  const [reloads, setReloads] = useState(0)
  const { data, error, loading } = useAnswer('datasets', reloads, listDatasets)
  useEffect(() => {
    document.title = 'Datasets · wherefore'
  }, [])
  const rows = data?.reduce((sum, d) => sum + d.rows, 0) ?? 0
  const filled = data?.filter((d) => d.rows > 0).length ?? 0
  return (
    <div className="page">
      <header className="answer with-tools">
        <div>
        <h1>{data ? `${count(data.length, 'dataset')}, ${count(rows, 'row')}` : error ? 'Could not list the datasets' : 'Datasets'}</h1>
        {data && data.length > 0 && <p>{filled === data.length ? 'All have rows.' : `${grouped(data.length - filled)} without rows yet.`} A row holds the features of one trace, or of one part of it.</p>}
        </div>
        {data && <a className="button" href={making ? '/datasets' : '/datasets?new='} onClick={followInPage}>{making ? 'Close' : 'New dataset'}</a>}
      </header>
      {data && making && <Suspense fallback={null}><NewDefinition onSaved={() => setReloads((n) => n + 1)} /></Suspense>}
      {error && !data && <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} />}
      {loading && !data && <Skeleton rows={8} label="Loading the datasets" />}
      {data && data.length === 0 && (
        <EmptyState title="No datasets yet.">
          <p>A dataset is defined by its features. Define one with “New dataset”, or from a file:</p>
          <Command text="wherefore dataset apply FILE.yaml" />
        </EmptyState>
      )}
      {data && data.length > 0 && <List datasets={data} />}
    </div>
  )
}

function List({ datasets }: { datasets: DatasetSummary[] }) {
  const costs = datasets.some((d) => d.costNs !== null)
  return (
    <div className="table-box" tabIndex={0} role="region" aria-label="Datasets">
      <table className="grid">
        <thead>
          <tr><th>Dataset</th><th>Owner</th><th className="right">Rows</th><th className="right">Size</th><th>Newest row</th>{costs && <th className="right">CPU per trace</th>}<th>Note</th></tr>
        </thead>
        <tbody>
          {datasets.map((d) => (
            <tr key={d.name}>
              <td><a href={`/datasets/${encodeURIComponent(d.name)}`} onClick={followInPage}><strong>{d.name}</strong></a></td>
              <td>{d.owner || '–'}</td>
              <td className="num right">{grouped(d.rows)}</td>
              <td className="num right">{d.bytes > 0 ? bytes(d.bytes) : '–'}</td>
              <td className="num" title={d.newestNs === null ? undefined : instantTitle(d.newestNs)}>{d.newestNs === null ? '–' : dateTime(d.newestNs).slice(0, 19)}</td>
              {costs && <td className="num right">{d.costNs === null ? '–' : duration(d.costNs)}</td>}
              <td>{d.fault ? <span className="bad">▲ {d.fault}</span> : d.standing ? <span className="muted">standing</span> : ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
