import { useState } from 'react'
import { setParams } from '../shell/router'
import { DEFAULT_RANGE, instantMs, PRESETS, rangeName, type TimeRange } from './time_range'

const localInput = (ms: number) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

// `standard`: the range of a URL without one.
export function TimeRangePicker({ range, standard = DEFAULT_RANGE }: { range: TimeRange; standard?: string }) {
  const preset = PRESETS.some(([value]) => value === range.since) && !range.until
  const [custom, setCustom] = useState(!preset)
  const [from, setFrom] = useState(() => localInput(instantMs(range.since) ?? Date.now() - 3600e3))
  const [to, setTo] = useState(() => localInput((range.until && instantMs(range.until)) || Date.now()))
  const apply = () => {
    setParams({ since: new Date(from).toISOString(), until: new Date(to).toISOString(), sel: null }, 'push')
  }
  return (
    <div className="time-range">
      <div className="segmented" role="group" aria-label="Time range" title={rangeName(range)}>
        {PRESETS.map(([value, name]) => (
          <button
            key={value}
            type="button"
            title={name}
            aria-label={name}
            aria-pressed={preset && !custom && range.since === value}
            onClick={() => {
              setCustom(false)
              setParams({ since: value === standard ? null : value, until: null, sel: null }, 'push')
            }}
          >
            {value}
          </button>
        ))}
        <button type="button" aria-pressed={custom} aria-expanded={custom} onClick={() => setCustom(!custom)}>custom</button>
      </div>
      {custom && (
        <form className="time-custom" onSubmit={(event) => { event.preventDefault(); apply() }}>
          <label>from <input type="datetime-local" value={from} required onChange={(e) => setFrom(e.target.value)} /></label>
          <label>to <input type="datetime-local" value={to} required min={from} onChange={(e) => setTo(e.target.value)} /></label>
          <button type="submit" className="button">Apply</button>
        </form>
      )}
    </div>
  )
}
