import { useState } from 'react'
import { storeAdminToken } from '../api/queries'
import { Dialog } from '../parts/Dialog'

// Advice runs inside other processes, so the server requires the administrator token.
export function TokenDialog({ wrong, onGiven, onClose }: { wrong: boolean; onGiven: () => void; onClose: () => void }) {
  const [token, setToken] = useState('')
  return (
    <Dialog title="Administrator token" onClose={onClose}>
      <form
        className="save-chart"
        onSubmit={(event) => {
          event.preventDefault()
          storeAdminToken(token.trim())
          onGiven()
        }}
      >
        <p>A live query runs inside other processes, so starting or removing one needs the administrator token. It is in <code>server.json</code> in the store’s folder, which only its owner can read.</p>
        <label>Token <input type="password" className="mono" autoFocus autoComplete="off" required value={token} onChange={(event) => setToken(event.target.value)} /></label>
        {wrong && <p className="bad" role="alert">▲ Wrong token.</p>}
        <div className="row">
          <button type="submit" className="button primary" disabled={token.trim() === ''}>Continue</button>
          <span className="muted">Kept until this tab is closed.</span>
        </div>
      </form>
    </Dialog>
  )
}
