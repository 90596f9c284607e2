import { lazy, Suspense, useEffect, useState } from 'react'
import { getServices } from '../api/client'
import { isSignedIn, onSignInRequested, sessionTenant, signOut } from '../api/session'
import { registerServices } from '../parts/colours'
import { Icon } from '../parts/Icon'
import { EmptyState } from '../parts/states'
import { SearchView } from '../search/SearchView'
import { TraceHome } from '../trace/TraceHome'
import { TraceView } from '../trace/TraceView'
import { openFileChooser, Upload } from '../upload/Upload'
import { CommandPalette } from './CommandPalette'
import { ErrorBoundary } from './ErrorBoundary'
import { followInPage, navigate, useRoute } from './router'
import { SignInDialog } from './SignInDialog'
import { toggleTheme, useTheme } from './theme'
import { traceIdOf } from './trace_id'

const CriticalPathsView = lazy(() => import('../path/PathsView').then((m) => ({ default: m.PathsView })))
const lazyView = <P,>(load: () => Promise<React.ComponentType<P>>) => lazy(async () => ({ default: await load() }))
const CompareView = lazyView(() => import('../compare/CompareView').then((m) => m.CompareView))
const DashboardsView = lazyView(() => import('../dashboards/DashboardsView').then((m) => m.DashboardsView))
const DashboardView = lazyView(() => import('../dashboards/DashboardView').then((m) => m.DashboardView))
const DatasetsView = lazyView(() => import('../data/DatasetsView').then((m) => m.DatasetsView))
const DatasetView = lazyView(() => import('../data/DatasetView').then((m) => m.DatasetView))
const ExplainView = lazyView(() => import('../explain/ExplainView').then((m) => m.ExplainView))
const MapView = lazyView(() => import('../map/MapView').then((m) => m.MapView))
const PathsView = lazyView(() => import('../patterns/PathsView').then((m) => m.PathsView))
const QueryView = lazyView(() => import('../query/QueryView').then((m) => m.QueryView))
const RecordingsView = lazyView(() => import('../recordings/RecordingsView').then((m) => m.RecordingsView))
const RecordingView = lazyView(() => import('../recordings/RecordingView').then((m) => m.RecordingView))
const StatusView = lazy(() => import('../status/StatusView').then((m) => ({ default: m.StatusView })))
const TwoTracesView = lazy(() => import('../two_traces/TwoTracesView').then((m) => ({ default: m.TwoTracesView })))

const VIEWS = [
  { path: '/search', name: 'Search', icon: 'search' },
  { path: '/trace', name: 'Trace', icon: 'trace' },
  { path: '/explain', name: 'Explain', icon: 'why' },
  { path: '/critical-path', name: 'Critical path', icon: 'path' },
  { path: '/datasets', name: 'Datasets', icon: 'table' },
  { path: '/compare', name: 'Compare', icon: 'compare' },
  { path: '/dashboards', name: 'Boards', icon: 'board' },
  { path: '/query', name: 'Query', icon: 'ask' },
  { path: '/paths', name: 'Paths', icon: 'messages' },
  { path: '/recordings', name: 'Recordings', icon: 'threads' },
  { path: '/map', name: 'Map', icon: 'map' },
  { path: '/status', name: 'Status', icon: 'status' },
] as const

export function App() {
  const route = useRoute()
  const theme = useTheme()
  const [palette, setPalette] = useState(false)
  const [, setServices] = useState(0)
  const [signingIn, setSigningIn] = useState(false)
  useEffect(() => onSignInRequested(() => setSigningIn(true)), [])
  useEffect(() => {
    // Colours are final once all services are known; if that fails, they come from the names alone.
    getServices().then((names) => {
      registerServices(names)
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
    // On a phone the rail is wider than the screen, so scroll to the current view.
    document.querySelector('.rail-item[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    if (route.path === '/') navigate('/search' + location.search, 'replace')
  }, [route.path])
  return (
    <div className="app">
      <a className="skip" href="#main">Skip to content</a>
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
        {isSignedIn() && (
          <button
            type="button"
            className="rail-item"
            title={`Tenant ${sessionTenant()}: sign out`}
            onClick={() => {
              signOut()
              location.reload()
            }}
          >
            <Icon name="close" size={18} />{sessionTenant()}
          </button>
        )}
        <button type="button" className="rail-item" title="Go to… (Ctrl+K)" onClick={() => setPalette(true)}>
          <Icon name="goto" size={18} />Go to
        </button>
        <button type="button" className="rail-item" title="Upload trace files" onClick={openFileChooser}>
          <Icon name="upload" size={18} />Upload
        </button>
        <button type="button" className="rail-item" title={`Use the ${theme === 'dark' ? 'light' : 'dark'} theme`} onClick={toggleTheme}>
          <Icon name={theme === 'dark' ? 'sun' : 'moon'} size={18} />
          {theme === 'dark' ? 'Light' : 'Dark'}
        </button>
      </nav>
      <main id="main" className="main" tabIndex={-1}>
        <ErrorBoundary key={route.path}>
          <Suspense fallback={null}>
            <View path={route.path} params={route.params} />
          </Suspense>
        </ErrorBoundary>
      </main>
      <Upload />
      {signingIn && <SignInDialog onClose={() => setSigningIn(false)} />}
      {palette && <CommandPalette onClose={() => setPalette(false)} />}
    </div>
  )
}

// /compare takes two trace ids, or conditions for two populations.
const isTracePair = (params: URLSearchParams) => ['a', 'b'].every((key) => traceIdOf(params.get(key) ?? '') !== null)

function View({ path, params }: { path: string; params: URLSearchParams }) {
  if (path === '/' || path === '/search') return <SearchView />
  if (path === '/trace' || path === '/trace/') return <TraceHome />
  if (path === '/critical-path') return <CriticalPathsView />
  if (path === '/query') return <QueryView />
  if (path === '/paths') return <PathsView />
  if (path === '/recordings' || path === '/recordings/') return <RecordingsView />
  if (path === '/compare/traces' || (path === '/compare' && isTracePair(params))) return <TwoTracesView />
  if (path === '/status') return <StatusView />
  if (path === '/datasets') return <DatasetsView />
  if (path === '/compare') return <CompareView />
  if (path === '/dashboards') return <DashboardsView />
  if (path === '/map') return <MapView />
  const [, kind, name] = /^\/(datasets|dashboards)\/([^/]+)$/.exec(path) ?? []
  if (kind === 'datasets') return <DatasetView key={name} name={decodeURIComponent(name!)} />
  if (kind === 'dashboards') return <DashboardView key={name} name={decodeURIComponent(name!)} />
  const explain = /^\/explain(?:\/([^/]*))?$/.exec(path)
  if (explain) {
    const id = decodeURIComponent(explain[1] ?? '')
    return <ExplainView key={id} id={id && (traceIdOf(id) ?? id)} />
  }
  const recording = /^\/recordings\/([^/]+)$/.exec(path)
  if (recording) return <RecordingView key={recording[1]} id={traceIdOf(decodeURIComponent(recording[1]!)) ?? decodeURIComponent(recording[1]!)} />
  const trace = /^\/trace\/([^/]+)$/.exec(path)
  if (trace) return <TraceView key={trace[1]} id={traceIdOf(decodeURIComponent(trace[1]!)) ?? decodeURIComponent(trace[1]!)} />
  return (
    <EmptyState title="Page not found.">
      <p><a href="/search" onClick={followInPage}>Search traces</a></p>
    </EmptyState>
  )
}
