import { useEffect, useMemo, useRef, useState } from 'react'
import { getServices } from '../api/client'
import { listDashboards, type DashboardSummary } from '../api/datasets'
import { Dialog } from '../parts/Dialog'
import { openFileChooser } from '../upload/Upload'
import { recentTraces } from './recent'
import { navigate } from './router'
import { toggleTheme } from './theme'

interface Item {
  label: string
  note: string
  run: () => void
}

// Ctrl+K: go to a trace id, a service, a view or a dashboard, or run an action.
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const [services, setServices] = useState<string[]>([])
  const [dashboards, setDashboards] = useState<DashboardSummary[]>([])
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    const abort = new AbortController()
    getServices(abort.signal).then(setServices, () => undefined)
    listDashboards(abort.signal).then(setDashboards, () => undefined)
    return () => abort.abort()
  }, [])
  const items = useMemo(() => {
    const go = (url: string) => () => navigate(url)
    const wanted = text.trim().toLowerCase()
    const all: Item[] = [
      { label: 'Search', note: 'view', run: go('/search') },
      { label: 'Trace', note: 'view', run: go('/trace') },
      { label: 'Explain', note: 'view', run: go('/explain') },
      { label: 'Critical path', note: 'view', run: go('/critical-path') },
      { label: 'Compare two traces', note: 'view', run: go('/compare/traces') },
      { label: 'Datasets', note: 'view', run: go('/datasets') },
      { label: 'Compare', note: 'view', run: go('/compare') },
      { label: 'Dashboards', note: 'view', run: go('/dashboards') },
      { label: 'Query (live or stored traces)', note: 'view', run: go('/query') },
      { label: 'Paths (inferred from messages)', note: 'view', run: go('/paths') },
      { label: 'Recordings (threads of a program)', note: 'view', run: go('/recordings') },
      { label: 'Map', note: 'view', run: go('/map') },
      { label: 'Status', note: 'view', run: go('/status') },
      { label: 'Traces with errors', note: 'search', run: go('/search?status=error') },
      ...services.map((s) => ({ label: s, note: 'service', run: go(`/search?service=${encodeURIComponent(s)}`) })),
      ...dashboards.map((d) => ({ label: d.title, note: 'dashboard', run: go(`/dashboards/${encodeURIComponent(d.name)}`) })),
      ...recentTraces().map((t) => ({ label: `${t.label} · ${t.took}`, note: 'recent trace', run: go(`/trace/${t.id}`) })),
      { label: 'Upload trace files', note: 'action', run: openFileChooser },
      { label: 'Switch between light and dark', note: 'action', run: toggleTheme },
    ]
    const found = all.filter((item) => item.label.toLowerCase().includes(wanted))
    if (/^[0-9a-f]{8,32}$/.test(wanted)) {
      found.unshift({ label: `Trace ${wanted.padStart(32, '0')}`, note: 'go to trace', run: go(`/trace/${wanted.padStart(32, '0')}`) })
    }
    return found.slice(0, 60)
  }, [text, services, dashboards])
  const at = Math.min(active, items.length - 1)
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const run = (item: Item | undefined) => {
    if (!item) return
    onClose()
    item.run()
  }
  return (
    <Dialog title="Go to" onClose={onClose} className="palette">
      <input
        autoFocus
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={items.length ? `palette-${at}` : undefined}
        aria-label="Trace id, service, view or dashboard"
        placeholder="Trace id, service, view or dashboard"
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setActive(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setActive((at + 1) % items.length)
          else if (event.key === 'ArrowUp') setActive((at - 1 + items.length) % items.length)
          else if (event.key === 'Enter') run(items[at])
          else return
          event.preventDefault()
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Matches" ref={list}>
        {items.map((item, i) => (
          <li key={`${item.note} ${item.label} ${i}`} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => run(item)} onPointerMove={() => setActive(i)}>
            <span>{item.label}</span>
            <span className="muted">{item.note}</span>
          </li>
        ))}
      </ul>
      {items.length === 0 && <p className="muted">No match. A trace id has 32 hexadecimal digits.</p>}
    </Dialog>
  )
}
