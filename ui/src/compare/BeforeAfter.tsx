import { useState } from 'react'
import type { DatasetSummary } from '../api/datasets'
import { INSTANT } from '../data/values'
import { setParams, useRoute } from '../shell/router'

const localInput = (ms: number) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)

// An instant splits the rows into before (A) and after (B).
export function BeforeAfter({ summary }: { summary: DatasetSummary | null }) {
  const { params } = useRoute()
  const given = /^time_ns < (\d+)$/.exec(params.get('a') ?? '')
  const [open, setOpen] = useState(false)
  const middle = summary?.oldestNs != null && summary.newestNs != null ? Number((summary.oldestNs + summary.newestNs) / 2_000_000n) : Date.now()
  const [text, setText] = useState('')
  const value = text || localInput(given ? Number(BigInt(given[1]!) / 1_000_000n) : middle)
  if (!open) return <button type="button" className="button" aria-expanded="false" onClick={() => setOpen(true)}>Before and after…</button>
  return (
    <form
      className="time-custom"
      onSubmit={(event) => {
        event.preventDefault()
        const at = BigInt(new Date(value).getTime()) * 1_000_000n
        setOpen(false)
        setParams({ a: `${INSTANT} < ${at}`, b: `${INSTANT} >= ${at}` }, 'push')
      }}
    >
      <label>change at <input type="datetime-local" step="1" required value={value} onChange={(event) => setText(event.target.value)} /></label>
      <button type="submit" className="button primary">Compare</button>
    </form>
  )
}
