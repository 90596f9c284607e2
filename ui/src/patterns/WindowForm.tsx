import { useState } from 'react'
import { instantMs, type TimeRange } from '../search/time_range'

interface Props {
  slow: TimeRange
  usual: TimeRange
  onApply: (slow: TimeRange, usual: TimeRange) => void
  onStop: () => void
}

const local = (text: string | null, otherwise: number) => {
  const ms = (text && text !== 'all' ? instantMs(text) : null) ?? otherwise
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

// Fields for the two time windows, which the strip sets too.
export function WindowForm({ slow, usual, onApply, onStop }: Props) {
  const now = Date.now()
  const [texts, setTexts] = useState([local(usual.since, now), local(usual.until, now), local(slow.since, now), local(slow.until, now)])
  const field = (i: number, label: string) => (
    <input type="datetime-local" step="1" aria-label={label} required value={texts[i]} onChange={(event) => setTexts(texts.map((t, k) => (k === i ? event.target.value : t)))} />
  )
  const range = (i: number): TimeRange => ({ since: new Date(texts[i]!).toISOString(), until: new Date(texts[i + 1]!).toISOString() })
  return (
    <form className="window-form" onSubmit={(event) => { event.preventDefault(); onApply(range(2), range(0)) }}>
      <span className="window-key"><span className="window-swatch usual" /> usual</span> {field(0, 'Usual from')} – {field(1, 'Usual until')}
      <span className="window-key"><span className="window-swatch" /> compared</span> {field(2, 'Compared from')} – {field(3, 'Compared until')}
      <button type="submit" className="button">Apply</button>
      <button type="button" className="button quiet" onClick={() => onApply(usual, slow)}>Swap</button>
      <button type="button" className="button quiet" onClick={onStop}>Stop comparing</button>
    </form>
  )
}
