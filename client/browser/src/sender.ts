// Lines → the server. Sent in small batches by fetch with keepalive while the page lives, and by sendBeacon when it
// goes away. What may wait is bounded; one batch is under way at a time; a server that does not answer is asked again
// a few times, then its batch is given up and counted. The content type is text/plain because that needs no preflight.
import { guard } from './guard'
import { lose } from './losses'

// Browsers allow 64 KiB under way in keepalive requests and beacons together.
const BATCH_BYTES = 48 * 1024
const QUEUE_BYTES = 256 * 1024
const RETRIES = 3
const RETRY_MS = 1000
const CONTENT_TYPE = 'text/plain;charset=UTF-8'

interface Batch {
  body: string
  events: number
}

export interface Sender {
  add(line: string): void
  flush(): void
  unload(): void
}

export function makeSender(endpoint: string, flushMs: number, post: typeof fetch): Sender {
  const lines: string[] = []
  let queued = 0 // characters of `lines`: what is sent is nearly all ASCII
  let underWay: Batch | undefined
  let retrying = false // the batch under way is not: it waits for its next try
  let tries = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function take(): Batch | undefined {
    let size = 0
    let events = 0
    while (events < lines.length && (!events || size + lines[events]!.length <= BATCH_BYTES)) size += lines[events++]!.length
    queued -= size
    return events ? { body: lines.splice(0, events).join(''), events } : undefined
  }

  function schedule(ms: number): void {
    timer ??= setTimeout(guard(() => {
      timer = undefined
      flush()
    }), ms)
  }

  function cancel(): void {
    clearTimeout(timer)
    timer = undefined
  }

  function done(): void {
    underWay = undefined
    tries = 0
    if (lines.length) schedule(flushMs)
  }

  function flush(): void {
    if (underWay && !retrying) return
    const batch = (underWay ??= take())
    if (!batch) return
    retrying = false
    const failed = (refused: boolean) => {
      if (underWay !== batch) return // it left by beacon meanwhile
      if (!refused && ++tries <= RETRIES) {
        retrying = true
        cancel()
        return schedule(RETRY_MS * 2 ** (tries - 1))
      }
      lose(refused ? 'refused' : 'send_failed', batch.events)
      done()
    }
    post(endpoint, { method: 'POST', body: batch.body, keepalive: true, headers: { 'content-type': CONTENT_TYPE } }).then(
      // Too many requests, or the server's own trouble: later may be better. Any other refusal is final.
      guard(({ ok, status }) => (ok ? done() : failed(status !== 429 && status < 500))),
      guard(() => failed(false)),
    )
  }

  return {
    add(line) {
      if (queued + line.length > QUEUE_BYTES) return lose('queue_full')
      lines.push(line)
      queued += line.length
      if (queued > BATCH_BYTES) flush()
      else schedule(flushMs)
    },

    flush,

    // The page goes away: everything leaves now, a batch that waits for its retry too. One that is under way stays so.
    unload() {
      cancel()
      let batch = retrying ? underWay : undefined
      if (retrying) underWay = undefined
      retrying = false
      while ((batch ??= take())) {
        if (!navigator.sendBeacon(endpoint, new Blob([batch.body], { type: CONTENT_TYPE }))) lose('beacon_refused', batch.events)
        batch = undefined
      }
    },
  }
}
