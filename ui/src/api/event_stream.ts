import { askToSignIn, isSignedIn, sessionHeaders } from './session'

// Server-sent events. The browser's own EventSource cannot send a header, so a tab that is signed in reads the stream
// itself, and comes back with the last event's id as EventSource would.
export interface Followed {
  onEvent: (type: string, data: string) => void
  onLost: (final: boolean) => void
}

const AGAIN_AFTER_MS = 1000

export function followEvents(path: string, types: string[], followed: Followed): () => void {
  if (isSignedIn()) return followByFetch(path, types, followed)
  const source = new EventSource(path)
  for (const type of types) source.addEventListener(type, (event) => followed.onEvent(type, (event as MessageEvent<string>).data))
  source.onerror = () => followed.onLost(source.readyState === EventSource.CLOSED)
  return () => source.close()
}

function followByFetch(path: string, types: string[], followed: Followed): () => void {
  const stop = new AbortController()
  let last = ''
  const take = (block: string) => {
    let type = 'message'
    const data: string[] = []
    for (const line of block.split('\n')) {
      const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (field === 'event') type = value!
      if (field === 'data') data.push(value!)
      if (field === 'id') last = value!
    }
    if (types.includes(type)) followed.onEvent(type, data.join('\n'))
  }
  const read = async () => {
    const answer = await fetch(path, { signal: stop.signal, headers: { accept: 'text/event-stream', ...sessionHeaders(), ...(last ? { 'last-event-id': last } : {}) } })
    if (!answer.ok || !answer.body) {
      if (answer.status === 401) askToSignIn()
      return followed.onLost(true)
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let held = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      held += value
      const blocks = held.split('\n\n')
      held = blocks.pop()!
      blocks.forEach(take)
    }
    throw new Error('the stream ended')
  }
  const run = () =>
    void read().catch(() => {
      if (stop.signal.aborted) return
      followed.onLost(false)
      setTimeout(() => stop.signal.aborted || run(), AGAIN_AFTER_MS)
    })
  run()
  return () => stop.abort()
}
