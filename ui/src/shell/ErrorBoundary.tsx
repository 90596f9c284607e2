import { Component, type ReactNode } from 'react'
import { EmptyState } from '../parts/states'

// Keeps the rail and the other views alive when a view throws. Give it a key that changes with the view, so that going to
// another view recovers.
export class ErrorBoundary extends Component<{ children: ReactNode }, { fault: Error | null }> {
  override state: { fault: Error | null } = { fault: null }

  static getDerivedStateFromError(cause: unknown): { fault: Error } {
    return { fault: cause instanceof Error ? cause : new Error(String(cause)) }
  }

  override render(): ReactNode {
    const { fault } = this.state
    if (!fault) return this.props.children
    // After a server upgrade the files of an open page are gone.
    const stale = /dynamically imported module|Importing a module script failed/.test(fault.message)
    return (
      <div role="alert">
        <EmptyState title={stale ? 'This page is older than the server.' : 'This view failed.'}>
          <p>{stale ? 'The server was upgraded. Reload to get the new version.' : 'This is a bug in the page, not a problem with your data. Please report it with the line below and what you did.'}</p>
          <p className="muted mono">{location.pathname}{location.search} · {fault.message}</p>
          <div className="row">
            <button type="button" className="button primary" onClick={() => location.reload()}>Reload the page</button>
            <button type="button" className="button" onClick={() => this.setState({ fault: null })}>Try again</button>
            <a className="button" href="/search">Search traces</a>
          </div>
        </EmptyState>
      </div>
    )
  }
}
