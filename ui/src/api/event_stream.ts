import { requestSignIn, isSignedIn, sessionHeaders } from './session'

// Server-sent events. EventSource cannot send a header, so a signed-in tab reads the stream with fetch and reconnects with
// the last event's id, as EventSource would.
export interface StreamHandlers {
  onEvent: (type: string, data: string) => void
  onLost: (final: boolean) => void
}

const RETRY_AFTER_MS = 1000

export function followEvents(path: string, types: string[], handlers: StreamHandlers): () => void {
  if (isSignedIn()) return followByFetch(path, types, handlers)
  const source = new EventSource(path)
  for (const type of types) source.addEventListener(type, (event) => handlers.onEvent(type, (event as MessageEvent<string>).data))
  source.onerror = () => handlers.onLost(source.readyState === EventSource.CLOSED)
  return () => source.close()
}

function followByFetch(path: string, types: string[], handlers: StreamHandlers): () => void {
  const stop = new AbortController()
  let lastEventId = ''
  const dispatchBlock = (block: string) => {
    let type = 'message'
    const data: string[] = []
    for (const line of block.split('\n')) {
      const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
      if (field === 'event') type = value!
      if (field === 'data') data.push(value!)
      if (field === 'id') lastEventId = value!
    }
    if (types.includes(type)) handlers.onEvent(type, data.join('\n'))
  }
  const read = async () => {
    const answer = await fetch(path, { signal: stop.signal, headers: { accept: 'text/event-stream', ...sessionHeaders(), ...(lastEventId ? { 'last-event-id': lastEventId } : {}) } })
    if (!answer.ok || !answer.body) {
      if (answer.status === 401) requestSignIn()
      return handlers.onLost(true)
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    let pending = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      pending += value
      const blocks = pending.split('\n\n')
      pending = blocks.pop()!
      blocks.forEach(dispatchBlock)
    }
    throw new Error('the stream ended')
  }
  const run = () =>
    void read().catch(() => {
      if (stop.signal.aborted) return
      handlers.onLost(false)
      setTimeout(() => stop.signal.aborted || run(), RETRY_AFTER_MS)
    })
  run()
  return () => stop.abort()
}
