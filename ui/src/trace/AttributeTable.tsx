import { useState } from 'react'
import { isLongInteger, showExact } from '../api/exact_json'
import type { Attributes } from '../api/types'
import { grouped } from '../parts/format'
import { Icon } from '../parts/Icon'
import { followInPage } from '../shell/router'

// A span may have 10,000 attributes, or a megabyte in one; at first only a part is shown.
const MANY = 200
const LONG = 2000

export function AttributeTable({ attributes, empty, searchable = false }: { attributes: Attributes; empty: string; searchable?: boolean }) {
  const [all, setAll] = useState(false)
  const keys = Object.keys(attributes)
  if (keys.length === 0) return empty ? <p className="muted">{empty}</p> : null
  return (
    <>
    <table className="kv">
      <tbody>
        {(all ? keys : keys.slice(0, MANY)).map((key) => (
          <tr key={key}>
            <th scope="row" title={key}>{key}</th>
            <td>
              <Value value={attributes[key]} />
              {searchable && <FindLike name={key} value={attributes[key]} />}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
    {!all && keys.length > MANY && (
      <button type="button" className="link-button" onClick={() => setAll(true)}>Show all {grouped(keys.length)}</button>
    )}
    </>
  )
}

// Links to other traces with the same value.
function FindLike({ name, value }: { name: string; value: unknown }) {
  if (value === null || typeof value === 'object') return null
  const text = isLongInteger(value) ? value.slice(1) : String(value)
  const label = `Find traces with ${name}=${text}`
  return (
    <a className="find-like" href={`/search?${new URLSearchParams({ since: 'all', attr: `${name}=${text}` })}`} title={label} aria-label={label} onClick={followInPage}>
      <Icon name="search" size={12} />
    </a>
  )
}

export function Value({ value }: { value: unknown }) {
  if (isLongInteger(value)) return <span className="value-number">{value.slice(1)}</span>
  if (typeof value === 'number') return <span className="value-number">{String(value)}</span>
  if (typeof value === 'boolean') return <span className="value-bool">{String(value)}</span>
  if (typeof value === 'string') return <LongText text={value} className="value-string" />
  return <LongText text={showExact(value)} className="value-json mono" />
}

function LongText({ text, className }: { text: string; className: string }) {
  const [all, setAll] = useState(false)
  if (all || text.length <= LONG) return <span className={className}>{text}</span>
  return (
    <>
      <span className={className}>{text.slice(0, LONG)}…</span>{' '}
      <button type="button" className="link-button" onClick={() => setAll(true)}>Show all {grouped(text.length)} characters</button>
    </>
  )
}
