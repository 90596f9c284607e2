import { serviceColour } from '../parts/colours'
import { duration, exactNs, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { followInPage } from '../shell/router'
import { useTheme } from '../shell/theme'
import { Section } from '../trace/SpanPanel'
import { DelayChart } from './DelayChart'
import type { PathNode, Pattern } from './patterns_model'

interface Props {
  pattern: Pattern
  at: number
  other: PathNode | null
  comparing: boolean
  tracesUrl: string
  onClose: () => void
}

// One node of a pattern: its delays, their distribution, and its own time step by step.
export function NodePanel({ pattern, at, other, comparing, tracesUrl, onClose }: Props) {
  const theme = useTheme()
  const n = pattern.nodes[at]!
  const colour = serviceColour(n.node, theme)
  const caller = n.parent < 0 ? pattern.client : pattern.nodes[n.parent]!.node
  const children: PathNode[] = []
  for (let c = at + 1; c < n.end; c = pattern.nodes[c]!.end) children.push(pattern.nodes[c]!)
  const stepName = (i: number) =>
    children.length === 0 ? 'whole call' : i === 0 ? `until it calls ${children[0]!.node}` : i === children.length ? `after ${children[i - 1]!.node} replied` : `between ${children[i - 1]!.node} and ${children[i]!.node}`
  return (
    <section className="panel" aria-label="Selected node">
      <header className="panel-head">
        <span className="swatch" style={{ background: colour }} />
        <h2>{n.node} <span className="thin">called by {caller}</span></h2>
        <button type="button" className="icon-button small" title="Close (Esc)" aria-label="Close" onClick={onClose}><Icon name="close" size={14} /></button>
      </header>
      <div className="panel-body" tabIndex={0} role="region" aria-label="Facts about the node">
        {comparing && !other && <p className="note">This pattern is not shown for the usual window, so there is nothing to compare with.</p>}
        {n.afterReply && <p className="note">Called after its caller replied, so nothing waits for it.</p>}
        <DelayChart title="Latency" bins={n.spread?.latency ?? []} usualBins={other?.spread?.latency ?? null} mean={n.latency} usualMean={other?.latency ?? null} colour={colour} />
        {n.steps.length > 1 && <DelayChart title="Own time" bins={n.spread?.own ?? []} usualBins={other?.spread?.own ?? null} mean={n.own} usualMean={other?.own ?? null} colour={colour} />}
        {n.parent >= 0 && <DelayChart title={`Delay after ${caller} was called`} bins={n.spread?.callDelay ?? []} usualBins={other?.spread?.callDelay ?? null} mean={n.callDelay} usualMean={other?.callDelay ?? null} colour={colour} />}
        <Section title="Own time by step">
          <table className="kv steps">
            <tbody>
              {n.steps.map((s, i) => (
                <tr key={i}>
                  <th scope="row">{stepName(i)}</th>
                  <td className="num right" title={exactNs(s)}>{duration(s)} <span className="muted">{percent(s, n.latency)}</span>{other && other.steps[i] !== undefined && <span className={s - other.steps[i]! > n.latency * 0.05 ? 'bad' : 'muted'}> {signed(s - other.steps[i]!)}</span>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
        <Section title="Next"><a href={tracesUrl} onClick={followInPage}>Inferred traces of this pattern</a></Section>
      </div>
    </section>
  )
}

export const signed = (ns: number): string => (Math.round(ns) === 0 ? '±0' : ns > 0 ? `+${duration(ns)}` : duration(ns))
