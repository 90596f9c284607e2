// Sends lines to the server, in small batches by fetch with keepalive, and by sendBeacon when the page is closed. The queue
// is bounded and one batch is in flight at a time. A failed batch is retried a few times, then dropped and counted. The
// content type is text/plain because that needs no preflight.
import { guard } from './guard'
import { countLoss } from './losses'

// Browsers allow 64 KiB in flight in keepalive requests and beacons together.
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
  let queued = 0 // characters in `lines`, which are nearly all ASCII
  let inFlight: Batch | undefined
  let retrying = false // the batch waits for its next try
  let tries = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function nextBatch(): Batch | undefined {
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
    inFlight = undefined
    tries = 0
    if (lines.length) schedule(flushMs)
  }

  function flush(): void {
    if (inFlight && !retrying) return
    const batch = (inFlight ??= nextBatch())
    if (!batch) return
    retrying = false
    const failed = (refused: boolean) => {
      if (inFlight !== batch) return // it was sent by beacon
      if (!refused && ++tries <= RETRIES) {
        retrying = true
        cancel()
        return schedule(RETRY_MS * 2 ** (tries - 1))
      }
      countLoss(refused ? 'refused' : 'send_failed', batch.events)
      done()
    }
    post(endpoint, { method: 'POST', body: batch.body, keepalive: true, headers: { 'content-type': CONTENT_TYPE } }).then(
      // 429 and 5xx may succeed later; any other refusal is final.
      guard(({ ok, status }) => (ok ? done() : failed(status !== 429 && status < 500))),
      guard(() => failed(false)),
    )
  }

  return {
    add(line) {
      if (queued + line.length > QUEUE_BYTES) return countLoss('queue_full')
      lines.push(line)
      queued += line.length
      if (queued > BATCH_BYTES) flush()
      else schedule(flushMs)
    },

    flush,

    // Sends everything now, including a batch that waits for its retry. A batch in flight is left alone.
    unload() {
      cancel()
      let batch = retrying ? inFlight : undefined
      if (retrying) inFlight = undefined
      retrying = false
      while ((batch ??= nextBatch())) {
        if (!navigator.sendBeacon(endpoint, new Blob([batch.body], { type: CONTENT_TYPE }))) countLoss('beacon_refused', batch.events)
        batch = undefined
      }
    },
  }
}
