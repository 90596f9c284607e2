// The account this tab uses, on a server that has accounts. It is kept until the tab is closed and sent as a header
// only, so a page of another site cannot make the browser send it.
const AUTHORIZATION = 'wherefore.authorization'
const TENANT = 'wherefore.tenant'
const SIGN_IN_EVENT = 'wherefore:sign-in'

const authorization = (): string => sessionStorage.getItem(AUTHORIZATION) ?? ''
export const sessionTenant = (): string => sessionStorage.getItem(TENANT) ?? ''
export const isSignedIn = (): boolean => authorization() !== ''

export function sessionHeaders(): Record<string, string> {
  return {
    ...(authorization() ? { authorization: authorization() } : {}),
    ...(sessionTenant() ? { 'x-scope-orgid': sessionTenant() } : {}),
  }
}

export interface SignIn {
  name: string // empty: the secret is a token
  secret: string
  tenant: string
}

// In UTF-8, as RFC 7617 requires.
const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

function headersOf({ name, secret, tenant }: SignIn): Record<string, string> {
  return {
    authorization: name ? `Basic ${base64(`${name}:${secret}`)}` : `Bearer ${secret}`,
    ...(tenant ? { 'x-scope-orgid': tenant } : {}),
  }
}

export interface WhoAmI {
  name: string
  tenant: string
  rights: string[]
}

// Null if the server accepts the credentials, which are then kept; else the server's message.
export async function signIn(as: SignIn): Promise<string | null> {
  try {
    const headers = headersOf(as)
    const answer = await fetch('/api/v1/whoami', { headers })
    if (!answer.ok) return ((await answer.json()) as { error: { message: string } }).error.message
    const who = (await answer.json()) as WhoAmI
    sessionStorage.setItem(AUTHORIZATION, headers.authorization!)
    sessionStorage.setItem(TENANT, who.tenant)
    return null
  } catch {
    return 'The server cannot be reached.'
  }
}

export function signOut(): void {
  sessionStorage.removeItem(AUTHORIZATION)
  sessionStorage.removeItem(TENANT)
}

// Called when a request got 401.
export const requestSignIn = (): void => void window.dispatchEvent(new Event(SIGN_IN_EVENT))
export function onSignInRequested(listener: () => void): () => void {
  window.addEventListener(SIGN_IN_EVENT, listener)
  return () => window.removeEventListener(SIGN_IN_EVENT, listener)
}

// Downloads with the session's headers, which a plain link cannot carry.
export async function download(path: string, name: string): Promise<void> {
  const answer = await fetch(path, { headers: sessionHeaders() })
  if (answer.status === 401) return requestSignIn()
  const url = URL.createObjectURL(await answer.blob())
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
