// Performance entries, one observer per type. `buffered` includes entries from before the client started; those that the
// browser dropped are counted.
import { guard } from './guard'
import { countLoss } from './losses'

export interface Watch {
  drain(): void // delivers pending entries, before a trace or the page ends
  stop(): void
}

export function watchEntries(type: string, each: (entry: PerformanceEntry) => void): Watch | undefined {
  if (!PerformanceObserver.supportedEntryTypes?.includes(type)) return undefined
  const deliver = (entries: PerformanceEntryList) => entries.forEach(guard(each))
  const observer = new PerformanceObserver((list, _, options?: { droppedEntriesCount?: number }) => {
    countLoss('browser_buffer', options?.droppedEntriesCount ?? 0)
    deliver(list.getEntries())
  })
  observer.observe({ type, buffered: true })
  return { drain: () => deliver(observer.takeRecords()), stop: () => observer.disconnect() }
}
