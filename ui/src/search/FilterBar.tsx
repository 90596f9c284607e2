import { CompletingBar } from '../parts/CompletingBar'
import { navigate } from '../shell/router'
import { complete, tokenAt } from './completion'
import { parseFilter, type Filter } from './filter_language'

const verdict = (text: string): string | null => {
  const parsed = parseFilter(text)
  return parsed.ok ? null : parsed.message
}

export function FilterBar({ text, onFilter }: { text: string; onFilter: (filter: Filter) => void }) {
  const submit = (value: string) => {
    const result = parseFilter(value)
    if (!result.ok) return
    if (result.traceId) navigate(`/trace/${result.traceId}`)
    else onFilter(result.filter)
  }
  return (
    <CompletingBar
      text={text}
      label="Filter traces"
      placeholder="service:frontend status:error min:250ms user.id=42"
      button="Search"
      faultOf={verdict}
      wordAt={tokenAt}
      complete={complete}
      onSubmit={submit}
    />
  )
}
