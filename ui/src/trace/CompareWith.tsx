import { useState } from 'react'
import { Dialog } from '../parts/Dialog'
import { recentTraces } from '../shell/recent'
import { followInPage, navigate } from '../shell/router'

// Chooses the other trace of a comparison: by id, from recent traces, or by search.
export function CompareWith({ traceId, service, name, onClose }: { traceId: string; service: string; name: string; onClose: () => void }) {
  const [text, setText] = useState('')
  const valid = /^[0-9a-fA-F]{1,32}$/.test(text.trim())
  const recent = recentTraces().filter((t) => t.id !== traceId)
  const url = (other: string) => `/compare?a=${traceId}&b=${other}`
  return (
    <Dialog title="Compare with" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (valid) navigate(url(text.trim().toLowerCase().padStart(32, '0')))
        }}
      >
        <div className={`filter-box filter-${text === '' ? 'empty' : valid ? 'good' : 'bad'}`}>
          <input autoFocus className="mono" type="text" aria-label="Id of the other trace" aria-invalid={text !== '' && !valid} placeholder="trace id" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
          <button type="submit" className="button primary" disabled={!valid}>Compare</button>
        </div>
      </form>
      <p className="spaced-line">
        <a href={`/search?${new URLSearchParams({ service, operation: name, since: 'all', pick: traceId })}`} onClick={followInPage}>Search for similar traces</a>{' '}
        <span className="muted">and select one there.</span>
      </p>
      {recent.length > 0 && (
        <>
          <h3>Recently opened</h3>
          <ul className="recent">
            {recent.map((t) => (
              <li key={t.id}>
                <a href={url(t.id)} onClick={followInPage}>{t.label}</a>
                <span className="num">{t.took}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
