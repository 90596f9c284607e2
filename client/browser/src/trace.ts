// One trace of this page: a navigation, a click, a scroll, or one the page's code started. It is an execution unit
// named "Client" with one block that lasts from the start to the last thing that happened in it.
//
// Until it is decided whether to keep the trace, its events are held here, within limits (opportunistic tracing, Canopy
// §4.1, figure 6): yes sends them and all that follow, no drops them and records nothing more. The trace id may change until
// something is sent: a navigation takes the id from its server.
import type { Nanos } from './clock'
import { now, originNow } from './clock'
import type { Event, EventType, Facts } from './event'
import { toLine } from './event'
import { countLoss, newLosses } from './losses'
import { newId, newTraceId } from './trace_context'

export type Cause = 'navigation' | 'click' | 'scroll' | 'code'
export type Decision = 'pending' | 'yes' | 'no'

export interface TraceSetting {
  service: string
  host: string
  maxEvents: number
  write: (line: string) => void
}

export class Trace {
  id = newTraceId()
  decision: Decision = 'pending'
  ended = false
  readonly unit = newId()
  readonly root = newId()
  lastActivity: Nanos
  requestsInProgress = 0

  private readonly origin = originNow()
  private kept: Event[] = []
  private count = 0
  private open: string[] = [] // open blocks of the page's code, innermost last

  constructor(
    readonly setting: TraceSetting,
    cause: Cause,
    readonly start: Nanos,
    name: string,
    facts: Facts = {},
  ) {
    this.lastActivity = start
    const { service, host } = setting
    this.record('unit_begin', this.unit, undefined, start, { name: 'Client', service, host })
    this.record('trace_start', this.unit, undefined, start, { cause })
    this.record('block_begin', this.root, this.unit, start, { name, ...facts })
  }

  get wanted(): boolean {
    return this.decision !== 'no' && !this.ended
  }

  // The innermost open block, the parent of what starts now.
  get current(): string {
    return this.open[this.open.length - 1] ?? this.root
  }

  // The server's decision, or ours. The first one counts.
  decide(wanted: boolean): void {
    if (this.decision !== 'pending') return
    const events = this.kept
    this.kept = []
    this.decision = wanted ? 'yes' : 'no'
    if (wanted) for (const event of events) this.write(event)
    else countLoss('unsampled', events.length)
  }

  // Whether a pair of events still fits. Checked before the first one, so that an end never stands alone; a no is
  // counted.
  room(): boolean {
    const room = this.count < this.setting.maxEvents
    if (this.wanted && !room) countLoss('trace_full')
    return this.wanted && room
  }

  record(type: EventType, id1: string, id2: string | undefined, at: Nanos, facts?: Facts): void {
    if (!this.wanted) return
    if (at > this.lastActivity) this.lastActivity = at
    this.count++
    const event = { type, id1, id2, at, facts }
    if (this.decision === 'yes') this.write(event)
    else this.kept.push(event)
  }

  point(name: string, at: Nanos, facts?: Facts): void {
    if (this.room()) this.record('point', newId(), this.current, at, { name, marker: name, ...facts })
  }

  // A block that has ended, from a performance entry; it must lie within the trace.
  pastBlock(name: string, from: Nanos, to: Nanos): void {
    if (!this.room()) return
    const id = newId()
    this.record('block_begin', id, this.unit, from, { name })
    this.record('block_end', id, this.unit, to)
  }

  // Begins a block of synchronous code; such blocks nest (docs/use/browser-client.md). Returns a function that ends it.
  begin(name: string, facts?: Facts): (() => void) | undefined {
    if (!this.room()) return undefined
    const id = newId()
    this.record('block_begin', id, this.unit, now(), { name, ...facts })
    this.open.push(id)
    return () => {
      this.open = this.open.filter((o) => o !== id)
      this.record('block_end', id, this.unit, now())
    }
  }

  // Ends the trace at its last event. A decision that is still pending will not come any more.
  end(): void {
    const at = this.lastActivity
    while (this.open.length) this.record('block_end', this.open.pop()!, this.unit, at)
    this.record('block_end', this.root, this.unit, at)
    this.record('unit_end', this.unit, undefined, at, this.decision === 'yes' ? newLosses() : undefined)
    this.ended = true
    if (this.decision === 'pending') countLoss('undecided', this.kept.length)
    this.kept = []
  }

  private write(event: Event): void {
    this.setting.write(toLine(this.id, this.origin, event))
  }
}
