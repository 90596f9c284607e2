// wherefore in the browser: start() once, as early as the page can.
import type { Wherefore } from './client'
import { runClient } from './client'
import { lose } from './losses'
import type { Options } from './options'
import { settle, switchedOff } from './options'

export type { Wherefore } from './client'
export type { Facts } from './event'
export type { Options } from './options'

// What there is where the client is switched off, or the browser is too old.
const nothing = () => {}
const inert: Wherefore = { mark: nothing, block: (_, body) => body(), trace: nothing, flush: nothing, counters: () => ({}), stop: nothing }

let running: Wherefore | undefined

export function start(options?: Options): Wherefore {
  if (running) return running // one page, one client
  try {
    const settings = settle(options)
    if (!settings.enabled || switchedOff()) return inert
    const client = runClient(settings)
    return (running = {
      ...client,
      stop() {
        running = undefined
        client.stop()
      },
    })
  } catch {
    lose('internal_error')
    return inert
  }
}
