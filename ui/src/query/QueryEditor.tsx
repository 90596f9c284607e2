import { useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Suggestion } from '../parts/CompletingBar'
import { WithCode } from '../parts/states'
import { isAggregate, isFilter, isFunction, isKeyword, tokens, type Place } from './query_text'
import { wordAt } from './query_completion'

interface Props {
  text: string
  fault: Place | null
  complete: (text: string, caret: number, signal: AbortSignal) => Promise<Suggestion[]>
  onChange: (text: string) => void
  onRun: () => void
}

const kindOf = (text: string, kind: string): string =>
  kind === 'string' ? 'q-string' : kind === 'number' ? 'q-number' : kind !== 'word' ? '' : isKeyword(text) ? 'q-keyword' : isAggregate(text) || isFilter(text) || isFunction(text) ? 'q-function' : ''

// The text in colours below the transparent text area, with the error underlined and a mark at the start of the word
// under the caret.
function Painted({ text, fault, mark, markAt }: { text: string; fault: Place | null; mark: React.RefObject<HTMLSpanElement>; markAt: number }) {
  const all = tokens(text)
  const cuts = new Set([0, text.length, markAt, ...all.flatMap((t) => [t.from, t.to])])
  if (fault && fault.from >= 0) cuts.add(fault.from).add(fault.to)
  const places = [...cuts].filter((n) => n >= 0 && n <= text.length).sort((a, b) => a - b)
  const kinds = new Map(all.map((t) => [t.from, t]))
  let current = all[0]
  return (
    <pre className="query-paint mono" aria-hidden="true">
      {places.map((from, i) => {
        current = kinds.get(from) ?? current
        const to = places[i + 1] ?? from
        const inside = current && from >= current.from && to <= current.to
        const wrong = fault && fault.from >= 0 && from >= fault.from && to <= fault.to && to > from
        return (
          <span key={from}>
            {from === markAt && <span ref={mark} />}
            <span className={`${inside ? kindOf(current!.text, current!.kind) : ''} ${wrong ? 'q-fault' : ''}`}>{text.slice(from, to)}</span>
          </span>
        )
      })}
      {'\n'}
    </pre>
  )
}

// A query of several lines with completion and the server's error at its position. Ctrl+Enter runs, Ctrl+Space completes.
export function QueryEditor({ text, fault, complete, onChange, onRun }: Props) {
  const [caret, setCaret] = useState(text.length)
  const [open, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const [suggestions, setSuggestions] = useState<Suggestion[]>([])
  const [at, setAt] = useState({ left: 0, top: 0 })
  const area = useRef<HTMLTextAreaElement>(null)
  const mark = useRef<HTMLSpanElement>(null)
  const listId = useId()
  const faultId = useId()
  useEffect(() => {
    if (!open) return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      void complete(text, caret, abort.signal).then((list) => {
        if (abort.signal.aborted) return
        // No list if its only entry is already typed.
        const word = text.slice(wordAt(text, caret).from, caret)
        setSuggestions(list.length === 1 && list[0]!.insert === word ? [] : list)
        setActive(-1)
      }, () => undefined)
    }, 40)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
    // `complete` is a new closure on each render; its result depends on the text.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text, caret, open])
  const showList = open && suggestions.length > 0
  useLayoutEffect(() => {
    if (showList && mark.current) setAt({ left: mark.current.offsetLeft, top: mark.current.offsetTop })
  }, [showList, text, caret])
  const accept = (s: Suggestion) => {
    const word = wordAt(text, caret)
    const rest = text.slice(Math.max(word.to, caret))
    const space = s.open || /^[\s,).]/.test(rest) ? '' : ' '
    const place = word.from + s.insert.length + space.length
    flushSync(() => {
      onChange(text.slice(0, word.from) + s.insert + space + rest)
      setCaret(place)
      setActive(-1)
      setSuggestions([])
      setOpen(true)
    })
    area.current?.focus()
    area.current?.setSelectionRange(place, place)
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    const command = event.ctrlKey || event.metaKey
    if (event.key === 'Enter' && command) {
      setOpen(false)
      onRun()
    } else if (event.key === ' ' && event.ctrlKey) setOpen(true)
    else if (showList && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      const step = event.key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1
      setActive((active + step + suggestions.length) % suggestions.length)
    } else if (showList && event.key === 'Tab' && !event.shiftKey) {
      // The list may be older than the last letters, so a suggestion must still match.
      const typed = text.slice(wordAt(text, caret).from, caret).toLowerCase().replace(/`/g, '')
      const meant = active >= 0 ? suggestions[active] : suggestions.find((s) => s.insert.toLowerCase().replace(/`/g, '').includes(typed))
      if (!meant) return
      accept(meant)
    } else if (showList && event.key === 'Enter' && active >= 0) accept(suggestions[active]!)
    else if (event.key === 'Escape' && open) {
      setOpen(false)
      event.stopPropagation()
    } else return
    event.preventDefault()
  }
  const goThere = () => {
    if (!fault || fault.from < 0) return
    area.current?.focus()
    area.current?.setSelectionRange(fault.from, fault.to)
  }
  return (
    <div className={`query-editor ${fault ? 'query-bad' : text.trim() === '' ? '' : 'query-good'}`} onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}>
      <div className="query-text">
        <Painted text={text} fault={fault} mark={mark} markAt={wordAt(text, caret).from} />
        <textarea
          ref={area}
          className="mono"
          role="combobox"
          aria-label="Query"
          aria-expanded={showList}
          aria-controls={listId}
          aria-autocomplete="list"
          aria-activedescendant={showList && active >= 0 ? `${listId}-${active}` : undefined}
          aria-invalid={fault !== null}
          aria-describedby={fault ? faultId : undefined}
          spellCheck={false}
          autoComplete="off"
          placeholder="From x In tracepoint GroupBy x.host Select x.host, COUNT"
          value={text}
          onChange={(event) => {
            onChange(event.target.value)
            setCaret(event.target.selectionStart)
            setOpen(true)
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
        />
        <ul id={listId} role="listbox" aria-label="Completions" className="suggestions" hidden={!showList} style={{ left: `min(${at.left}px, calc(100% - 400px))`, top: at.top + 22 }}>
          {suggestions.map((s, i) => (
            <li key={s.insert} id={`${listId}-${i}`} role="option" aria-selected={i === active} onPointerDown={(event) => event.preventDefault()} onClick={() => accept(s)}>
              <span className="mono">{s.insert}</span>
              <span className="muted">{s.note}</span>
            </li>
          ))}
        </ul>
      </div>
      <div className="query-fault" id={faultId} role="status">
        {fault && (
          <>
            <button type="button" className="link-button bad" disabled={fault.from < 0} title="Go to the error" onClick={goThere}>{fault.message}</button>
            {fault.hint && <span className="muted"><WithCode text={fault.hint} /></span>}
          </>
        )}
      </div>
    </div>
  )
}
