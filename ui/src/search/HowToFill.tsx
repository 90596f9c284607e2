import { useState } from 'react'
import { getStatus } from '../api/client'
import { useAnswer } from '../api/use_answer'
import { Command } from '../parts/states'
import { exporterVariables, importScenario, newTraceId, sendOneByCurl } from './filling'

// What an empty server says: how to send it something, at the addresses that it really listens on.
export function HowToFill() {
  const [example] = useState(() => ({ nowMs: Date.now(), traceId: newTraceId() })) // stays while one reads
  const { data, loading } = useAnswer('how to fill', 0, getStatus)
  if (loading && !data) return null
  const listeners = data?.listeners ?? []
  const exporter = exporterVariables(listeners, location)
  const curl = sendOneByCurl(listeners, location, example.nowMs, example.traceId)
  return (
    <>
      {exporter && (
        <>
          <p>Point any OpenTelemetry exporter at this server:</p>
          <Command text={exporter} />
        </>
      )}
      {curl && (
        <>
          <p>or send one request by hand, to see that it arrives:</p>
          <Command text={curl} />
        </>
      )}
      <p>{exporter ? 'or import' : 'Import'} 300 page loads of a made-up site. They are from 14 November 2026, so search all time:</p>
      <Command text={importScenario(location.origin)} />
      <p>Trace files (OTLP, Zipkin, Jaeger or HTrace) can also be dropped anywhere on this page.</p>
    </>
  )
}
