// Performance entries, each kind by its own observer. `buffered` brings those from before we started; what the browser
// had no room for is counted.
import { guard } from './guard'
import { lose } from './losses'

export interface Watch {
  drain(): void // takes what was observed and not delivered yet: before a trace ends, and before the page does
  stop(): void
}

export function watchEntries(type: string, each: (entry: PerformanceEntry) => void): Watch | undefined {
  if (!PerformanceObserver.supportedEntryTypes?.includes(type)) return undefined
  const take = (entries: PerformanceEntryList) => entries.forEach(guard(each))
  const observer = new PerformanceObserver((list, _, told?: { droppedEntriesCount?: number }) => {
    lose('browser_buffer', told?.droppedEntriesCount ?? 0)
    take(list.getEntries())
  })
  observer.observe({ type, buffered: true })
  return { drain: () => take(observer.takeRecords()), stop: () => observer.disconnect() }
}
