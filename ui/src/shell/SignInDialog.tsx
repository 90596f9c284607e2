import { useState } from 'react'
import { signIn } from '../api/session'
import { Dialog } from '../parts/Dialog'

// Asks for credentials after a 401. They are kept until the tab is closed, and only if the server accepts them.
export function SignInDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState('')
  const [secret, setSecret] = useState('')
  const [tenant, setTenant] = useState('')
  const [wrong, setWrong] = useState('')
  return (
    <Dialog title="Sign in" onClose={onClose}>
      <form
        className="save-chart"
        onSubmit={(event) => {
          event.preventDefault()
          void signIn({ name: name.trim(), secret: secret.trim(), tenant: tenant.trim() }).then((why) => (why === null ? location.reload() : setWrong(why)))
        }}
      >
        <p>Sign in required. The administrator of this server can give you a token, or a name and a password.</p>
        <label>Name <input autoComplete="username" placeholder="leave empty to use a token" value={name} onChange={(event) => setName(event.target.value)} /></label>
        <label>{name.trim() ? 'Password' : 'Token'} <input type="password" className="mono" autoFocus autoComplete="current-password" required value={secret} onChange={(event) => setSecret(event.target.value)} /></label>
        <label>Tenant <input className="mono" autoComplete="off" placeholder="default: the account’s tenant" value={tenant} onChange={(event) => setTenant(event.target.value)} /></label>
        {wrong && <p className="bad" role="alert">▲ {wrong}</p>}
        <div className="row">
          <button type="submit" className="button primary" disabled={secret.trim() === ''}>Sign in</button>
          <span className="muted">Kept until this tab is closed.</span>
        </div>
      </form>
    </Dialog>
  )
}
