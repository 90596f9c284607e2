import { useState } from 'react'
import { ApiError } from '../api/client'
import { getDashboard, isConflict, listDashboards, putDashboard } from '../api/datasets'
import { useAnswer } from '../api/use_answer'
import { Dialog } from '../parts/Dialog'
import { followInPage } from '../shell/router'
import { nameFrom } from './dashboard_name'

// Adds the chart to a dashboard, and creates the dashboard if it does not exist.
export function SaveChart({ dataset, query, onClose }: { dataset: string; query: string; onClose: () => void }) {
  const { data: dashboards } = useAnswer('dashboards', 0, listDashboards)
  const [title, setTitle] = useState(`${dataset}: ${new URLSearchParams(query).get('chart') ?? 'series'}`)
  const [board, setBoard] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const [saved, setSaved] = useState<string | null>(null)
  const known = dashboards?.find((d) => d.title === board || d.name === board)
  const name = known?.name ?? nameFrom(board)
  const save = async () => {
    try {
      const chart = { title: title.trim(), dataset, query, wide: false }
      for (let attempt = 1; ; attempt++) {
        const old = known ? await getDashboard(known.name) : { name, title: board.trim(), charts: [], revision: '' }
        try {
          await putDashboard({ ...old, name, charts: [...old.charts, chart] })
          break
        } catch (cause) {
          // Adding a chart does not undo anyone's change, so on a conflict it is added to the newer version.
          if (!known || !isConflict(cause) || attempt === 5) throw cause
        }
      }
      setSaved(name)
    } catch (cause) {
      setFault(cause instanceof ApiError ? `${cause.message} ${cause.hint}` : String(cause))
    }
  }
  return (
    <Dialog title="Add to a dashboard" onClose={onClose}>
      {saved ? (
        <p role="status">Saved. <a href={`/dashboards/${encodeURIComponent(saved)}`} onClick={followInPage}>Open the dashboard</a></p>
      ) : (
        <form className="save-chart" onSubmit={(event) => { event.preventDefault(); void save() }}>
          <label>Chart <input type="text" required value={title} onChange={(event) => setTitle(event.target.value)} /></label>
          <label>Dashboard <input type="text" required autoFocus list="known-dashboards" placeholder="new or existing dashboard" value={board} onChange={(event) => setBoard(event.target.value)} /></label>
          <datalist id="known-dashboards">{dashboards?.map((d) => <option key={d.name} value={d.title} />)}</datalist>
          {fault && <p className="bad" role="alert">▲ {fault}</p>}
          <button type="submit" className="button primary" disabled={name === '' || title.trim() === ''}>{known ? 'Add' : 'Create and add'}</button>
        </form>
      )}
    </Dialog>
  )
}
