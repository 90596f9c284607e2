import { useEffect, useState } from 'react'
import { getRecordings } from '../api/recordings'
import { useAnswer } from '../api/use_answer'
import { count, dateTime, duration, instantTitle } from '../parts/format'
import { Command, EmptyState, ErrorState, Skeleton } from '../parts/states'
import { followInPage } from '../shell/router'
import { onImported } from '../upload/Upload'

// Imported recordings, newest first.
export function RecordingsView() {
  const [reloads, setReloads] = useState(0)
  const { data, error, loading } = useAnswer('recordings', reloads, getRecordings)
  useEffect(() => {
    document.title = 'Recordings · wherefore'
    return onImported(() => setReloads((n) => n + 1))
  }, [])
  if (!data) return error ? <ErrorState error={error} onRetry={() => setReloads((n) => n + 1)} /> : <Skeleton rows={6} label="Loading the recordings" />
  if (data.length === 0) {
    return (
      <EmptyState title="No recordings yet">
        <p>Record how the threads of a program run, what each one waited for, and where its data went. No recompilation needed:</p>
        <p><Command text="wherefore record -o run.cpg -- ./prog args" /></p>
        <p><Command text="wherefore import run.cpg" /> or drop the file here.</p>
      </EmptyState>
    )
  }
  return (
    <div className="page recordings" aria-busy={loading}>
      <header className="answer"><h1>{count(data.length, 'recording')}, newest {data[0]!.name} at {dateTime(data[0]!.start_ns)}</h1></header>
      <table className="grid">
        <thead><tr><th scope="col">program</th><th scope="col">started</th><th scope="col" className="right">duration</th><th scope="col">open</th></tr></thead>
        <tbody>
          {data.map((trace) => (
            <tr key={trace.trace_id}>
              <td><a href={`/recordings/${trace.trace_id}`} onClick={followInPage}>{trace.name}</a></td>
              <td title={instantTitle(trace.start_ns)}>{dateTime(trace.start_ns)}</td>
              <td className="right">{duration(trace.duration_ns)}</td>
              <td><a href={`/trace/${trace.trace_id}`} onClick={followInPage}>trace</a> · <a href={`/explain/${trace.trace_id}`} onClick={followInPage}>explain</a></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
