// The plain script: <script src="wherefore.iife.js" data-options='{"service":"shop-web"}'></script> starts the client as
// window.wherefore. Without data-options it only defines window.wherefore.start.
import { start } from './index'

const options = document.currentScript?.dataset.options
let client
try {
  if (options !== undefined) client = start(JSON.parse(options || '{}'))
} catch (cause) {
  console.warn('wherefore: data-options:', cause)
}
;(window as unknown as { wherefore: unknown }).wherefore = { ...client, start }
