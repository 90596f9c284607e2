import { useState, type ReactNode } from 'react'
import type { ApiError } from '../api/client'
import { Icon } from './Icon'

// The loading, empty and error states of views. Skeletons appear after 150 ms (in the style sheet), so that fast answers
// do not flicker.

export function Skeleton({ rows, label }: { rows: number; label: string }) {
  return (
    <div className="skeleton" role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className={`skeleton-row skeleton-${(i * 7) % 5}`} />
      ))}
    </div>
  )
}

// Shows the parts of a hint between backquotes as code.
export function WithCode({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>
}

export function ErrorState({ error, onRetry, children }: { error: ApiError; onRetry?: () => void; children?: ReactNode }) {
  return (
    <div className="state state-error" role="alert">
      <h2>
        <Icon name="warning" size={20} /> {error.message}
      </h2>
      {error.hint && <p><WithCode text={error.hint} /></p>}
      <p className="muted mono">
        {error.request}
        {error.status > 0 && ` → ${error.status}`} · {error.code}
      </p>
      <div className="row">
        {onRetry && (
          <button type="button" className="button" onClick={onRetry}>
            Try again
          </button>
        )}
        {children}
      </div>
    </div>
  )
}

export function EmptyState({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="state state-empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

// The clipboard API exists only on https and localhost; elsewhere execCommand still works.
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'sr-only'
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <button
      type="button"
      className="icon-button small"
      title={copied ? 'Copied' : label}
      aria-label={copied ? 'Copied' : label}
      onClick={() => {
        void copyText(text).then(() => {
          setCopied(true)
          setTimeout(() => setCopied(false), 1200)
        })
      }}
    >
      <Icon name={copied ? 'check' : 'copy'} size={14} />
    </button>
  )
}

export function Command({ text }: { text: string }) {
  return (
    <span className="command">
      <code>{text}</code>
      <CopyButton text={text} label={`Copy “${text}”`} />
    </span>
  )
}
