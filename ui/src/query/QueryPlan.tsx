import { explainQuery, type ExplainedPlan } from '../api/queries'
import { useAnswer } from '../api/use_answer'
import { bytes, count } from '../parts/format'
import { Skeleton } from '../parts/states'

const carried = ({ baggage: b }: ExplainedPlan): string =>
  b.tuples === 0 ? 'Requests carry no data for it.' : `Each request carries ${b.bounded ? 'up to' : 'at least'} ${count(b.tuples, 'row')}, about ${bytes(b.bytes)}${b.bounded ? '' : ', plus one row per further group'}.`

function Plan({ title, plan }: { title: string; plan: ExplainedPlan }) {
  return (
    <div className="plan">
      <h3>{title}</h3>
      <ol>
        {plan.advice.map((a) => (
          <li key={a.name}>
            <p><strong>{a.name}</strong> at <span className="mono">{a.at.join(', ')}</span> <span className="muted">({a.alias})</span></p>
            <ul className="mono">{a.steps.map((step, i) => <li key={i}><span className="q-keyword">{step.split(' ', 1)[0]}</span>{step.slice(step.split(' ', 1)[0]!.length)}</li>)}</ul>
          </li>
        ))}
      </ol>
      <p className="muted">{carried(plan)}</p>
    </div>
  )
}

// The query's advice at each tracepoint, as written and as woven, and what requests carry for it.
export function QueryPlan({ text }: { text: string }) {
  const { data, error } = useAnswer(`explain ${text}`, 0, (signal) => explainQuery(text, signal))
  return (
    <section className="query-part query-plan" aria-label="Plan">
      {error && <p className="muted">No plan until the query is valid: {error.message.split('\n')[0]}</p>}
      {!data && !error && <Skeleton rows={4} label="Compiling the query" />}
      {data && (
        <>
          <div className="plans">
            <Plan title="As written" plan={data.before} />
            <Plan title="As woven" plan={data.after} />
          </div>
          {data.notes.map((note) => <p key={note} className="muted">{note}</p>)}
        </>
      )}
    </section>
  )
}
