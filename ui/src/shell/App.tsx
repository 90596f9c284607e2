import { lazy, Suspense, useEffect, useState } from 'react'
import { getServices } from '../api/client'
import { learnServices } from '../parts/colours'
import { Icon } from '../parts/Icon'
import { EmptyState } from '../parts/states'
import { SearchView } from '../search/SearchView'
import { TraceHome } from '../trace/TraceHome'
import { TraceView } from '../trace/TraceView'
import { chooseFiles, Upload } from '../upload/Upload'
import { CommandPalette } from './CommandPalette'
import { followInPage, navigate, useRoute } from './router'
import { toggleTheme, useTheme } from './theme'
import { traceIdOf } from './trace_id'

const PathsView = lazy(() => import('../path/PathsView').then((m) => ({ default: m.PathsView })))
const StatusView = lazy(() => import('../status/StatusView').then((m) => ({ default: m.StatusView })))
const TwoTracesView = lazy(() => import('../two_traces/TwoTracesView').then((m) => ({ default: m.TwoTracesView })))

const VIEWS = [
  { path: '/search', name: 'Search', icon: 'search' },
  { path: '/trace', name: 'Trace', icon: 'trace' },
  { path: '/critical-path', name: 'Critical path', icon: 'path' },
  { path: '/status', name: 'Status', icon: 'status' },
] as const

export function App() {
  const route = useRoute()
  const theme = useTheme()
  const [palette, setPalette] = useState(false)
  const [, setServices] = useState(0)
  useEffect(() => {
    // Colours settle once all services are known; without an answer they come from the names alone.
    getServices().then((names) => {
      learnServices(names)
      setServices(names.length)
    }, () => undefined)
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setPalette(true)
      }
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [])
  useEffect(() => {
    if (route.path === '/') navigate('/search' + location.search, 'replace')
  }, [route.path])
  return (
    <div className="app">
      <a className="skip" href="#main">Skip to the content</a>
      <nav className="rail" aria-label="Views">
        <a className="logo" href="/search" onClick={followInPage} title="wherefore" aria-label="wherefore, start page">
          <img src="/favicon.svg" width="28" height="28" alt="" />
        </a>
        {VIEWS.map((view) => {
          const current = route.path === view.path || route.path.startsWith(`${view.path}/`)
          return (
            <a key={view.path} className="rail-item" href={view.path} aria-current={current ? 'page' : undefined} onClick={followInPage}>
              <Icon name={view.icon} size={18} />
              {view.name}
            </a>
          )
        })}
        <span className="spring" />
        <button type="button" className="rail-item" title="Go to… (Ctrl+K)" onClick={() => setPalette(true)}>
          <Icon name="goto" size={18} />Go to
        </button>
        <button type="button" className="rail-item" title="Upload trace files" onClick={chooseFiles}>
          <Icon name="upload" size={18} />Upload
        </button>
        <button type="button" className="rail-item" title={`Use the ${theme === 'dark' ? 'light' : 'dark'} theme`} onClick={toggleTheme}>
          <Icon name={theme === 'dark' ? 'sun' : 'moon'} size={18} />
          {theme === 'dark' ? 'Light' : 'Dark'}
        </button>
      </nav>
      <main id="main" className="main" tabIndex={-1}>
        <Suspense fallback={null}>
          <View path={route.path} params={route.params} />
        </Suspense>
      </main>
      <Upload />
      {palette && <CommandPalette onClose={() => setPalette(false)} />}
    </div>
  )
}

// /compare takes two traces by their ids; anything else it is given are conditions on populations.
const isTracePair = (params: URLSearchParams) => ['a', 'b'].every((key) => traceIdOf(params.get(key) ?? '') !== null)

function View({ path, params }: { path: string; params: URLSearchParams }) {
  if (path === '/' || path === '/search') return <SearchView />
  if (path === '/trace' || path === '/trace/') return <TraceHome />
  if (path === '/critical-path') return <PathsView />
  if (path === '/compare/traces' || (path === '/compare' && isTracePair(params))) return <TwoTracesView />
  if (path === '/status') return <StatusView />
  const trace = /^\/trace\/([^/]+)$/.exec(path)
  if (trace) return <TraceView key={trace[1]} id={traceIdOf(decodeURIComponent(trace[1]!)) ?? decodeURIComponent(trace[1]!)} />
  return (
    <EmptyState title="There is no such page.">
      <p><a href="/search" onClick={followInPage}>Search traces</a> instead.</p>
    </EmptyState>
  )
}
