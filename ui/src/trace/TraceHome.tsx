import { useEffect, useState } from 'react'
import { recentTraces } from '../shell/recent'
import { followInPage, navigate } from '../shell/router'

// The Trace page without a trace: enter an id, or open a recent one.
export function TraceHome() {
  const [text, setText] = useState('')
  const recent = recentTraces()
  const valid = /^[0-9a-fA-F]{1,32}$/.test(text.trim())
  useEffect(() => {
    document.title = 'Trace · wherefore'
  }, [])
  return (
    <div className="page">
      <header className="answer"><h1>Open a trace</h1></header>
      <form
        className="open-trace"
        onSubmit={(event) => {
          event.preventDefault()
          if (valid) navigate(`/trace/${text.trim().toLowerCase().padStart(32, '0')}`)
        }}
      >
        <div className={`filter-box filter-${text === '' ? 'empty' : valid ? 'good' : 'bad'}`}>
          <input className="mono" type="text" aria-label="Trace id" aria-invalid={text !== '' && !valid} placeholder="trace id, 32 hexadecimal digits" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} />
          <button type="submit" className="button primary" disabled={!valid}>Open</button>
        </div>
        {text !== '' && !valid && <p className="filter-reason spaced" role="status">A trace id has up to 32 hexadecimal digits.</p>}
      </form>
      {recent.length > 0 ? (
        <>
          <h2>Recently opened</h2>
          <ul className="recent">
            {recent.map((t) => (
              <li key={t.id}>
                <a href={`/trace/${t.id}`} onClick={followInPage}>{t.label}</a>
                <span className="num">{t.took}</span>
                <span className="mono muted">{t.id}</span>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p className="muted">No traces opened in this browser yet. <a href="/search" onClick={followInPage}>Search</a> finds them by service, time, duration and attribute.</p>
      )}
    </div>
  )
}
