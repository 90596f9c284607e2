// wherefore in the browser: call start() once, as early as possible.
import type { Wherefore } from './client'
import { runClient } from './client'
import { countLoss } from './losses'
import type { Options } from './options'
import { switchedOff, withDefaults } from './options'

export type { Wherefore } from './client'
export type { Facts } from './event'
export type { Options } from './options'

// Returned if the client is switched off or the browser is too old.
const nothing = () => {}
const inert: Wherefore = { mark: nothing, block: (_, body) => body(), trace: nothing, flush: nothing, counters: () => ({}), stop: nothing }

let running: Wherefore | undefined

export function start(options?: Options): Wherefore {
  if (running) return running // one page, one client
  try {
    const settings = withDefaults(options)
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
    countLoss('internal_error')
    return inert
  }
}
