import { useState } from 'react'
import { count } from '../parts/format'
import { Icon } from '../parts/Icon'
import { repairMeaning, describeMissing } from './answer_sentence'
import type { Waterfall } from './waterfall_model'

// Says what is missing, whether it may still arrive, and what was repaired.
export function Banner({ w, onReload, onSelect }: { w: Waterfall; onReload: () => void; onSelect: (spanId: string) => void }) {
  const [open, setOpen] = useState(false)
  const missing = describeMissing(w)
  const repairs = Object.entries(w.repairs).filter(([, n]) => n > 0)
  const repaired = repairs.reduce((sum, [, n]) => sum + n, 0)
  if (!missing && repaired === 0 && w.violations.length === 0) return null
  return (
    <section className={`banner ${missing || w.violations.length ? 'banner-warn' : ''}`} aria-label="Completeness">
      <div className="banner-line">
        <Icon name="warning" />
        <span>
          {missing ? (
            <>
              <strong>{missing.sentence}</strong>{' '}
              {w.missing.length === 0 ? '' : missing.mayStillCome ? 'Some of it may still arrive.' : 'It is not expected to arrive any more.'}
            </>
          ) : (
            <strong>Complete, after {count(repaired, 'repair')}.</strong>
          )}{' '}
          {missing && repaired > 0 && `${count(repaired, 'repair')} made.`}{' '}
          {w.violations.length > 0 && `Breaks ${count(w.violations.length, 'rule')} of the trace model: shown, but left out of datasets.`}
        </span>
        <span className="spring" />
        {missing?.mayStillCome && (
          <button type="button" className="link-button" onClick={onReload}>
            Reload
          </button>
        )}
        <button type="button" className="link-button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Hide details' : 'Details'}
        </button>
      </div>
      {open && (
        <ul className="banner-list">
          {w.missing.slice(0, 20).map((m, i) => (
            <li key={`m${i}`}>
              missing {m.what.replace(/_/g, ' ')} at{' '}
              <button type="button" className="link-button mono" onClick={() => onSelect(m.span_id)}>
                {m.span_id}
              </button>
              {m.may_still_come ? ' (may still arrive)' : ''}
            </li>
          ))}
          {w.missing.length > 20 && <li>{count(w.missing.length - 20, 'more place')} in the JSON</li>}
          {repairs.map(([pass, n]) => (
            <li key={pass}>
              <span className="mono">{pass}</span>: {n} {repairMeaning(pass)}
            </li>
          ))}
          {w.violations.slice(0, 20).map((v, i) => (
            <li key={`v${i}`}>
              rule broken: {v.invariant.replace(/_/g, ' ')} <span className="mono">{v.element}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
