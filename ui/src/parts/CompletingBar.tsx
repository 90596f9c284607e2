import { useEffect, useId, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { Icon } from './Icon'

export interface Suggestion {
  // What replaces the word under the caret.
  insert: string
  note: string
  // More text must follow: no space is added after it.
  open: boolean
}

interface Props {
  text: string
  label: string
  placeholder: string
  button?: string
  // What is wrong with the text; null if nothing.
  faultOf: (text: string) => string | null
  wordAt: (text: string, caret: number) => { from: number; to: number; text: string }
  complete: (text: string, caret: number, signal: AbortSignal) => Promise<Suggestion[]>
  onSubmit: (text: string) => void
}

// A filter bar with completion: green while the text is valid, red with the reason while it is not. Enter submits.
export function CompletingBar({ text: given, label, placeholder, button, faultOf, wordAt, complete, onSubmit }: Props) {
  const [text, setText] = useState(given)
  const [caret, setCaret] = useState(given.length)
  const [open, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const [suggestions, setSuggestions] = useState<Suggestion[]>([])
  const input = useRef<HTMLInputElement>(null)
  const listId = useId()
  useEffect(() => setText(given), [given])

  useEffect(() => {
    if (!open) return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      void complete(text, caret, abort.signal).then((list) => {
        if (abort.signal.aborted) return
        setSuggestions(list)
        setActive(-1)
      })
    }, 60)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
    // `complete` is a new closure on each render; its result depends only on the text.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text, caret, open])

  const fault = faultOf(text)
  const verdict = text.trim() === '' ? 'empty' : fault === null ? 'good' : 'bad'
  const submit = (value: string) => {
    if (faultOf(value) !== null) return
    setOpen(false)
    onSubmit(value)
  }
  const accept = (s: Suggestion) => {
    const token = wordAt(text, caret)
    const rest = text.slice(token.to)
    const next = text.slice(0, token.from) + s.insert + (s.open || rest.startsWith(' ') ? '' : ' ') + rest
    const place = token.from + s.insert.length + (s.open ? 0 : 1)
    // Synchronous, so that the caret does not move under the next letters of a fast typist.
    flushSync(() => {
      setText(next)
      setCaret(place)
      setActive(-1)
    })
    input.current?.focus()
    input.current?.setSelectionRange(place, place)
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (!open || suggestions.length === 0) setOpen(true)
      else setActive((active + (event.key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1) + suggestions.length) % suggestions.length)
    } else if (event.key === 'Tab' && open && suggestions.length > 0 && !event.shiftKey && wordAt(text, caret).text !== '') {
      // The list may be older than the last letters, so a suggestion must still match.
      const word = wordAt(text, caret).text.toLowerCase()
      const suggestion = active >= 0 ? suggestions[active] : suggestions.find((s) => s.insert.toLowerCase().includes(word))
      if (!suggestion) return
      accept(suggestion)
    } else if (event.key === 'Enter') {
      if (open && active >= 0) accept(suggestions[active]!)
      else submit(text)
    } else if (event.key === 'Escape') setOpen(false)
    else return
    event.preventDefault()
  }
  const showList = open && suggestions.length > 0
  return (
    <div className="filter" onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}>
      <div className={`filter-box filter-${verdict}`}>
        <Icon name="search" />
        <input
          ref={input}
          type="text"
          className="mono"
          role="combobox"
          aria-label={label}
          aria-expanded={showList}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={showList && active >= 0 ? `${listId}-${active}` : undefined}
          aria-invalid={verdict === 'bad'}
          spellCheck={false}
          autoComplete="off"
          placeholder={placeholder}
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setCaret(event.target.selectionStart ?? event.target.value.length)
            setOpen(true)
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
          onFocus={() => setOpen(true)}
          onClick={() => setOpen(true)}
          onKeyDown={onKeyDown}
        />
        {fault !== null && verdict === 'bad' && <span className="filter-reason" role="status" title={fault}>{fault}</span>}
        {text !== '' && (
          <button type="button" className="icon-button small" aria-label="Clear filter" title="Clear" onClick={() => { setText(''); submit('') }}>
            <Icon name="close" size={12} />
          </button>
        )}
        {button && <button type="button" className="button primary" disabled={verdict === 'bad'} onClick={() => submit(text)}>{button}</button>}
      </div>
      <ul id={listId} role="listbox" aria-label="Completions" className="suggestions" hidden={!showList}>
        {suggestions.map((s, i) => (
          <li
            key={s.insert}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === active}
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => accept(s)}
          >
            <span className="mono">{s.insert}</span>
            <span className="muted">{s.note}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
