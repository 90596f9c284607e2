// One trace of this page: a navigation, a click, a scroll, or one the page's code started. It is an execution unit
// named "Client" with one block that lasts from the start to the last thing that happened in it.
//
// Until somebody decided whether the trace is wanted, its events wait here, bounded (opportunistic tracing, Canopy
// §4.1, figure 6): yes sends them and all that follow, no drops them and records nothing more. The trace id may still
// change while nothing has been sent: a navigation takes the id its server gave it.
import type { Nanos } from './clock'
import { now, originNow } from './clock'
import type { Event, EventType, Facts } from './event'
import { toLine } from './event'
import { lose, newLosses } from './losses'
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
  requestsUnderWay = 0

  private readonly origin = originNow()
  private kept: Event[] = []
  private count = 0
  private open: string[] = [] // blocks of the page's own code, innermost last

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

  // The innermost block that runs now: what is started belongs to it.
  get current(): string {
    return this.open[this.open.length - 1] ?? this.root
  }

  // The server's decision, or ours. The first one holds.
  decide(wanted: boolean): void {
    if (this.decision !== 'pending') return
    const events = this.kept
    this.kept = []
    this.decision = wanted ? 'yes' : 'no'
    if (wanted) for (const event of events) this.write(event)
    else lose('unsampled', events.length)
  }

  // Whether there is room for something that has a beginning and an end. Pairs ask before they begin, lest only an
  // end be written; a no is counted.
  room(): boolean {
    const room = this.count < this.setting.maxEvents
    if (this.wanted && !room) lose('trace_full')
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

  // A block that is over already, as performance entries tell of it; it must lie within the trace.
  pastBlock(name: string, from: Nanos, to: Nanos): void {
    if (!this.room()) return
    const id = newId()
    this.record('block_begin', id, this.unit, from, { name })
    this.record('block_end', id, this.unit, to)
  }

  // A block of code that runs now, to its end, without waiting: such blocks nest (docs/use/browser-client.md). Gives what ends it.
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

  // Nothing more will happen: the trace ends where its last event was. If nobody decided by now, nobody will.
  end(): void {
    const at = this.lastActivity
    while (this.open.length) this.record('block_end', this.open.pop()!, this.unit, at)
    this.record('block_end', this.root, this.unit, at)
    this.record('unit_end', this.unit, undefined, at, this.decision === 'yes' ? newLosses() : undefined)
    this.ended = true
    if (this.decision === 'pending') lose('undecided', this.kept.length)
    this.kept = []
  }

  private write(event: Event): void {
    this.setting.write(toLine(this.id, this.origin, event))
  }
}
