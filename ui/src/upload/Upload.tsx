import { useEffect, useRef, useState } from 'react'
import { ApiError, importFile } from '../api/client'
import type { ImportAnswer } from '../api/types'
import { Dialog } from '../parts/Dialog'
import { bytes, count, grouped, percent } from '../parts/format'
import { Icon } from '../parts/Icon'
import { WithCode } from '../parts/states'
import { navigate } from '../shell/router'

interface Job {
  key: number
  file: File
  sent: number
  abort: AbortController
  answer: ImportAnswer | null
  error: ApiError | null
  cancelled: boolean
}

let openChooser = () => undefined as void
export const openFileChooser = (): void => openChooser()

// Calls the listener after each import, for views that show imported data. Returns a function that unsubscribes.
const importListeners = new Set<() => void>()
export const onImported = (listener: () => void): (() => void) => {
  importListeners.add(listener)
  return () => void importListeners.delete(listener)
}

// Imports dropped or chosen files, one after the other, and shows counts and links to their traces.
export function Upload() {
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const [jobs, setJobs] = useState<Job[]>([])
  const nextKey = useRef(1)
  const queue = useRef<Promise<void>>(Promise.resolve())

  const update = (key: number, change: Partial<Job>) => setJobs((all) => all.map((j) => (j.key === key ? { ...j, ...change } : j)))
  const start = (files: FileList | File[]) => {
    for (const file of Array.from(files)) {
      const job: Job = { key: nextKey.current++, file, sent: 0, abort: new AbortController(), answer: null, error: null, cancelled: false }
      setJobs((all) => [...all, job])
      queue.current = queue.current.then(async () => {
        if (job.abort.signal.aborted) return update(job.key, { cancelled: true })
        try {
          update(job.key, { answer: await importFile(file, (sent) => update(job.key, { sent }), job.abort.signal) })
          importListeners.forEach((listener) => listener())
        } catch (cause) {
          if (cause instanceof ApiError) update(job.key, { error: cause })
          else update(job.key, { cancelled: true })
        }
      })
    }
  }
  openChooser = () => input.current?.click()

  const latest = useRef(start)
  latest.current = start
  useEffect(() => {
    // dragenter and dragleave fire for every child, so they are counted.
    let depth = 0
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false
    const onEnter = (event: DragEvent) => {
      if (!hasFiles(event)) return
      depth++
      setOver(true)
    }
    const onLeave = (event: DragEvent) => {
      if (hasFiles(event) && --depth <= 0) setOver(false)
    }
    const onOver = (event: DragEvent) => hasFiles(event) && event.preventDefault()
    const onDrop = (event: DragEvent) => {
      depth = 0
      setOver(false)
      if (!event.dataTransfer?.files.length) return
      event.preventDefault()
      latest.current(event.dataTransfer.files)
    }
    window.addEventListener('dragenter', onEnter)
    window.addEventListener('dragleave', onLeave)
    window.addEventListener('dragover', onOver)
    window.addEventListener('drop', onDrop)
    return () => {
      window.removeEventListener('dragenter', onEnter)
      window.removeEventListener('dragleave', onLeave)
      window.removeEventListener('dragover', onOver)
      window.removeEventListener('drop', onDrop)
    }
  }, [])

  const close = () => {
    jobs.forEach((j) => !j.answer && !j.error && j.abort.abort())
    setJobs([])
  }
  return (
    <>
      <input ref={input} type="file" multiple hidden aria-label="Trace files" onChange={(event) => { if (event.target.files) start(event.target.files); event.target.value = '' }} />
      {over && (
        <div className="drop" aria-hidden="true">
          <div><Icon name="upload" size={32} /><p>Drop trace files to import them</p><p className="muted">OTLP JSON or protobuf, Zipkin, Jaeger, HTrace; packet captures, mail and message text; gzip and zstd too</p></div>
        </div>
      )}
      {jobs.length > 0 && (
        <Dialog title="Import" onClose={close}>
          {jobs.map((job) => <JobView key={job.key} job={job} onLeave={close} />)}
        </Dialog>
      )}
    </>
  )
}

function JobView({ job, onLeave }: { job: Job; onLeave: () => void }) {
  const { file, answer, error } = job
  const ids = answer?.trace_ids ?? []
  return (
    <section className="job" aria-live="polite">
      <h3>{file.name} <span className="muted num">{bytes(file.size)}</span></h3>
      {!answer && !error && !job.cancelled && (
        <p className="row">
          <progress max={Math.max(file.size, 1)} value={job.sent} aria-label={`Sending ${file.name}`} />
          <span className="num">{job.sent < file.size ? percent(job.sent, file.size) : 'reading…'}</span>
          <button type="button" className="link-button" onClick={() => job.abort.abort()}>Cancel</button>
        </p>
      )}
      {job.cancelled && <p className="muted">Cancelled.</p>}
      {error && (
        <div role="alert">
          <p className="bad">{error.message}</p>
          {error.hint && <p><WithCode text={error.hint} /></p>}
        </div>
      )}
      {answer && (
        <>
          <p>
            {(answer.messages ?? 0) > 0 && <><strong>{count(answer.messages!, 'message')}</strong> stored (<a href="/paths" onClick={(event) => { event.preventDefault(); onLeave(); navigate('/paths') }}>Their paths</a>); inferred: </>}
            <strong>{count(answer.spans, 'span')} in {count(answer.traces, 'trace')}</strong> imported
            {answer.duplicates > 0 && `, ${count(answer.duplicates, 'duplicate')} skipped`}
            {answer.rejected > 0 && <span className="bad">, {grouped(answer.rejected)} rejected</span>}
            {Object.keys(answer.repairs ?? {}).length > 0 && `; repaired: ${Object.entries(answer.repairs).map(([pass, n]) => `${pass} ${n}`).join(', ')}`}.
          </p>
          <ul className="job-traces">
            {ids.slice(0, 20).map((id) => (
              <li key={id}>
                <a className="mono" href={`/trace/${id}`} onClick={(event) => { event.preventDefault(); onLeave(); navigate(`/trace/${id}`) }}>{id}</a>
              </li>
            ))}
          </ul>
          {answer.traces > 20 && (
            <button type="button" className="link-button" onClick={() => { onLeave(); navigate('/search?since=all') }}>Search all traces</button>
          )}
        </>
      )}
    </section>
  )
}
