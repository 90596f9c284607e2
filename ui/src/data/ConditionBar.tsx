import { queryDataset, type UsedColumn } from '../api/datasets'
import { CompletingBar, type Suggestion } from '../parts/CompletingBar'
import { COMPARISONS, expectedAt, parseConditions, quoteKey, quoteText } from './condition_language'
import { typeName, unitOf, usualGroup, usualMetric } from './values'

interface Props {
  dataset: string
  columns: UsedColumn[] | null
  text: string
  label: string
  placeholder?: string
  button?: string
  // Words accepted besides conditions, such as `rest`.
  words?: string[]
  onSubmit: (text: string) => void
}

const LIMIT = 14
// Loaded once per page and column, because the server counts how often a column is used.
const knownValues = new Map<string, Promise<string[]>>()

function valuesOf(dataset: string, column: string): Promise<string[]> {
  const key = `${dataset}\u0000${column}`
  let values = knownValues.get(key)
  if (!values) {
    const query = new URLSearchParams({ group_by: quoteKey(column), agg: 'count', limit: '300' })
    values = queryDataset(dataset, query).then((rows) => rows.rows.flatMap((row) => (typeof row[0] === 'string' ? [row[0]] : [])))
    values.catch(() => knownValues.delete(key))
    knownValues.set(key, values)
  }
  return values
}

function example(columns: UsedColumn[]): string {
  const group = usualGroup(columns)
  const metric = usualMetric(columns)
  const conditions = [group && `${quoteKey(group)} = "…"`, metric && `${quoteKey(metric)} > ${unitOf(metric) === 'duration' ? '250ms' : '100'}`].filter(Boolean)
  return ['Filter rows', conditions.join(' and ')].filter(Boolean).join(': ')
}

export function ConditionBar({ dataset, columns, text, label, placeholder, button, words = [], onSubmit }: Props) {
  const faultOf = (value: string) => {
    if (words.includes(value.trim())) return null
    const parsed = parseConditions(value, columns)
    return parsed.ok ? null : parsed.message
  }
  const wordAt = (value: string, caret: number) => {
    const { from, to, prefix } = expectedAt(value, caret, columns ?? [])
    return { from, to, text: prefix }
  }
  const complete = async (value: string, caret: number): Promise<Suggestion[]> => {
    if (!columns) return []
    const { kind, prefix, column } = expectedAt(value, caret, columns)
    const matches = (s: string) => s.toLowerCase().includes(prefix.toLowerCase())
    const plain = (insert: string, note = ''): Suggestion => ({ insert, note, open: false })
    if (kind === 'column') {
      const special = value.trim() === '' || words.some((w) => w.startsWith(prefix)) ? words.filter(matches).map((w) => plain(w, 'everything else')) : []
      return [...special, ...columns.filter((c) => matches(c.name)).slice(0, LIMIT).map((c) => plain(quoteKey(c.name), c.queries > 0 ? `${typeName(c.type)} · used ${c.queries}×` : typeName(c.type)))]
    }
    if (kind === 'comparison') return COMPARISONS.filter((c) => c.startsWith(prefix) || prefix === '').map((c) => ({ insert: c, note: '', open: c.endsWith('(') }))
    if (kind === 'and') return 'and'.startsWith(prefix) ? [plain('and', 'another condition')] : []
    const of = columns.find((c) => c.name === column)
    if (!of) return []
    if (of.type === 'bool') return ['true', 'false'].filter(matches).map((v) => plain(v))
    if (of.type !== 'text') return []
    try {
      return (await valuesOf(dataset, of.name)).filter(matches).slice(0, LIMIT).map((v) => plain(quoteText(v)))
    } catch {
      return []
    }
  }
  return (
    <CompletingBar text={text} label={label} placeholder={placeholder ?? example(columns ?? [])} button={button} faultOf={faultOf} wordAt={wordAt} complete={complete} onSubmit={(value) => onSubmit(value.trim())} />
  )
}
