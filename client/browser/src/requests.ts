// fetch and XMLHttpRequest: each request to the page's origin (or to an allowed one) carries traceparent and becomes a
// unit of the trace, because requests overlap while blocks of one unit nest. The server's span is a child of its block. The
// response's traceresponse may decide whether to keep the trace.
//
// Both functions are replaced by wrappers that pass all arguments on and return what the original returns.
import type { Nanos } from './clock'
import { MS, fromMs, now } from './clock'
import { guard } from './guard'
import { countLoss } from './losses'
import type { Trace } from './trace'
import type { SpanContext } from './trace_context'
import { formatContext, newId, parseContext } from './trace_context'

export interface Call {
  trace: Trace
  url: string
  unit: string
  block: string
  start: Nanos
  answered?: Nanos // when the response arrived
  failed?: string
}

export interface RequestHooks {
  // The trace of a request that starts now; undefined: none, so the request is left alone.
  traceNow: () => Trace | undefined
  shown: (url: string) => string
  // Whether requests to this URL may carry our headers.
  propagates: (url: URL) => boolean
  answered: (trace: Trace, context: SpanContext | undefined) => void
}

export interface Requests {
  begin(url: string, method: string): Call | undefined
  headers(call: Call): [string, string][]
  answer(call: Call, traceresponse: string | null, failure?: string): void
  // The call that a performance entry measured. The entry knows when the last byte arrived.
  match(entry: PerformanceResourceTiming): Call | undefined
  // Ends the calls of a trace that is about to end.
  settle(trace: Trace): void
}

export function makeRequests(hooks: RequestHooks): Requests {
  // Calls whose end is not recorded yet. Bounded, because traces are, and each settles its calls at its end.
  let calls: Call[] = []

  function close(call: Call, end: Nanos): void {
    calls = calls.filter((c) => c !== call)
    const { trace, unit, block, start, answered, failed } = call
    const at = Math.max(start, end, answered ?? trace.lastActivity)
    trace.record('block_end', block, unit, at, { error: failed ?? (answered ? '' : 'unanswered') })
    trace.record('unit_end', unit, undefined, at)
  }

  return {
    begin(url, method) {
      const target = new URL(url, document.baseURI)
      const trace = hooks.propagates(target) ? hooks.traceNow() : undefined
      if (!trace) return undefined
      const call: Call = { trace, url: target.href.replace(/#.*/, ''), unit: newId(), block: newId(), start: now() }
      trace.requestsInProgress++
      // A dropped or full trace still propagates.
      if (!trace.room()) return call
      const { service, host } = trace.setting
      trace.record('unit_begin', call.unit, trace.current, call.start, { name: 'fetch', service, host })
      trace.record('block_begin', call.block, call.unit, call.start, { name: `${method.toUpperCase()} ${hooks.shown(call.url)}`, kind: 'client' })
      calls.push(call)
      return call
    },

    // While the decision is pending only the page's server may decide; the mark keeps it from passing the trace on.
    headers({ trace, block }) {
      const parent: [string, string] = ['traceparent', formatContext(trace.id, block, trace.decision === 'yes')]
      return trace.decision === 'pending' ? [parent, ['tracestate', OPPORTUNISTIC]] : [parent]
    },

    answer(call, traceresponse, failure) {
      call.trace.requestsInProgress--
      call.answered = now()
      call.failed = failure
      hooks.answered(call.trace, parseContext(traceresponse))
    },

    match({ name, startTime, responseEnd }) {
      const start = fromMs(startTime)
      const found = calls.find((c) => c.url === name && c.start - MS <= start && start <= (c.answered ?? start))
      if (found) close(found, fromMs(responseEnd))
      return found
    },

    settle(trace) {
      for (const call of calls) if (call.trace === trace) close(call, 0)
    },
  }
}

export const OPPORTUNISTIC = 'wf=o'

// Replaces a function by `make(original)`. Returns a function that restores it, unless other code wrapped it since; then
// the wrapper stays in the chain and does nothing.
function wrap<O, K extends keyof O>(object: O, name: K, make: (original: O[K]) => O[K]): () => void {
  const original = object[name]
  const wrapper = make(original)
  object[name] = wrapper
  return () => {
    if (object[name] === wrapper) object[name] = original
  }
}

export const wrapFetch = (requests: Requests): (() => void) =>
  wrap(window, 'fetch', (original) => function (this: unknown, input, init) {
    let call: Call | undefined
    let extended = init
    guard(() => {
      // Options that are not a plain object (some pass a Request) cannot be copied faithfully.
      if (init && Object.getPrototypeOf(init) !== Object.prototype) return countLoss('unpropagated')
      const request = input instanceof Request ? input : undefined
      const headers = new Headers(init?.headers ?? request?.headers)
      if (headers.has('traceparent')) return // another tracer sets it
      call = requests.begin(request?.url ?? String(input), init?.method ?? request?.method ?? 'GET')
      if (!call) return
      for (const [name, value] of requests.headers(call)) headers.append(name, value)
      extended = { ...init, headers }
    })()
    const answer = original.call(this as Window, input, extended)
    if (call) {
      answer.then(
        guard((response) => requests.answer(call!, response.headers.get('traceresponse'))),
        guard((cause) => requests.answer(call!, null, String(cause?.name))),
      )
    }
    return answer
  })

export function wrapXhr(requests: Requests): () => void {
  // The arguments of open(); removed once the page sets traceparent itself.
  const targets = new WeakMap<XMLHttpRequest, [string, string] | undefined>()
  const before = {
    open(xhr: XMLHttpRequest, [method, url]: unknown[]) {
      targets.set(xhr, [String(url), String(method)])
    },
    setRequestHeader(xhr: XMLHttpRequest, [name]: unknown[]) {
      if (/^traceparent$/i.test(String(name))) targets.delete(xhr)
    },
    send(xhr: XMLHttpRequest) {
      const target = targets.get(xhr)
      const call = target && requests.begin(...target)
      if (!call) return
      for (const header of requests.headers(call)) xhr.setRequestHeader(...header)
      xhr.addEventListener('loadend', guard(() => {
        // getResponseHeader() of a header that CORS hides would log an error in the page's console.
        const response = /^traceresponse: *(.*)$/im.exec(xhr.getAllResponseHeaders())?.[1] ?? null
        requests.answer(call, response, xhr.status ? undefined : 'failed')
      }), { once: true })
    },
  }
  type Method = (this: XMLHttpRequest, ...args: unknown[]) => unknown
  const prototype = XMLHttpRequest.prototype as unknown as Record<keyof typeof before, Method>
  const undo = (Object.keys(before) as (keyof typeof before)[]).map((name) =>
    wrap(prototype, name, (original) => function (...args) {
      guard(before[name])(this, args)
      return original.apply(this, args)
    }))
  return () => undo.forEach((step) => step())
}
