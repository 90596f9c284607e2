import { useMemo } from 'react'
import { serviceColour } from '../parts/colours'
import { duration, exactNs, grouped, percent } from '../parts/format'
import { useTheme } from '../shell/theme'
import { totalsByOperation, type Waterfall } from './waterfall_model'

// The waterfall as a table: own time by operation.
export function OperationTable({ w, onSelect }: { w: Waterfall; onSelect: (block: number) => void }) {
  const theme = useTheme()
  const totals = useMemo(() => totalsByOperation(w), [w])
  const all = totals.reduce((sum, t) => sum + t.own, 0)
  const top = totals[0]?.own ?? 1
  return (
    <div className="table-scroll" tabIndex={0} role="region" aria-label="Own time by operation">
      <table className="grid">
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col">Operation</th>
            <th scope="col" className="right">Own time</th>
            <th scope="col" className="right">Share</th>
            <th scope="col" className="wide"><span className="sr-only">Share as a bar</span></th>
            <th scope="col" className="right">Spans</th>
            <th scope="col" className="right">Max</th>
            <th scope="col" className="right">Errors</th>
          </tr>
        </thead>
        <tbody>
          {totals.slice(0, 500).map((t) => (
            <tr key={`${t.service} ${t.name}`}>
              <td><span className="swatch" style={{ background: serviceColour(t.service, theme) }} /> {t.service}</td>
              <td>
                <button type="button" className="link-button" title="Select the span with most own time" onClick={() => onSelect(t.example)}>
                  {t.name}
                </button>
              </td>
              <td className="num right" title={exactNs(t.own)}>{duration(t.own)}</td>
              <td className="num right">{percent(t.own, all)}</td>
              <td><span className="bar" style={{ width: `${(t.own / Math.max(top, 1)) * 100}%`, background: serviceColour(t.service, theme) }} /></td>
              <td className="num right">{grouped(t.spans)}</td>
              <td className="num right" title={exactNs(t.longest)}>{duration(t.longest)}</td>
              <td className={`num right ${t.errors ? 'bad' : 'muted'}`}>{t.errors ? `▲ ${t.errors}` : '0'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {totals.length > 500 && <p className="muted">Largest 500 of {grouped(totals.length)} operations.</p>}
    </div>
  )
}
