import { duration, exactNs, percent } from './format'
import { VERDICTS, verdictMeaning, verdictWords, type Verdict } from './verdict'

export function VerdictChip({ verdict }: { verdict: Verdict }) {
  return (
    <span className="verdict" title={verdictMeaning(verdict)}>
      <i className={`verdict-mark verdict-${verdict}`} aria-hidden="true" />
      {verdictWords(verdict)}
    </span>
  )
}

// Time per verdict, largest first; also the legend of the chart beside it.
export function VerdictTotals({ totals, whole }: { totals: Record<Verdict, number>; whole: number }) {
  const shown = VERDICTS.filter((v) => totals[v] > 0).sort((a, b) => totals[b] - totals[a])
  return (
    <ul className="verdict-totals" aria-label="Time by kind">
      {shown.map((v) => (
        <li key={v} title={exactNs(totals[v])}>
          <VerdictChip verdict={v} /> <span className="num">{duration(totals[v])}</span> <span className="num muted">{percent(totals[v], whole)}</span>
        </li>
      ))}
    </ul>
  )
}

export const zeroTotals = (): Record<Verdict, number> => ({ self: 0, blocked: 0, network: 0, queue: 0, unknown: 0 })
