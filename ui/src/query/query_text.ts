// As much of the query language (docs/reference/query-language.md) as the view needs: the clauses of a text, which columns
// are keys and which are aggregates, and how to query a group's traces. Only the server checks a text.

export interface Token {
  from: number
  to: number
  text: string
  kind: 'word' | 'name' | 'string' | 'number' | 'sign'
}

export const KEYWORDS = ['From', 'In', 'Join', 'On', 'Where', 'Sample', 'Window', 'GroupBy', 'Select', 'As', 'And', 'Or', 'Not', 'true', 'false']
export const FILTERS = ['First', 'MostRecent', 'FirstN', 'MostRecentN']
export const AGGREGATES = ['COUNT', 'SUM', 'MIN', 'MAX', 'AVERAGE', 'PERCENTILE', 'DISTINCT', 'HISTOGRAM']
export const FUNCTIONS = ['Lower', 'Upper', 'Length', 'Contains', 'StartsWith', 'EndsWith', 'Bucket', 'Has']

const inAnyCase = (list: string[]) => {
  const lower = new Set(list.map((s) => s.toLowerCase()))
  return (word: string) => lower.has(word.toLowerCase())
}
export const isKeyword = inAnyCase(KEYWORDS)
export const isFilter = inAnyCase(FILTERS)
export const isAggregate = inAnyCase(AGGREGATES)
export const isFunction = inAnyCase(FUNCTIONS)

// A name of several parts (`a.b`, `` `GET /x`.end ``) is one token; so is an unclosed string.
const TOKEN = /\s+|((?:[A-Za-z_]\w*|`[^`]*`?)(?:\.(?:[A-Za-z_]\w*|`[^`]*`?))*\.?)|('(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?)|(\d+(?:\.\d+)?[a-z]*)|(->|&&|\|\||[=!<>]=|.)/gsy

export function tokens(text: string): Token[] {
  const out: Token[] = []
  TOKEN.lastIndex = 0
  for (let m = TOKEN.exec(text); m !== null && m[0] !== ''; m = TOKEN.exec(text)) {
    const kind = m[1] !== undefined ? (/[.`]/.test(m[1]) ? 'name' : 'word') : m[2] !== undefined ? 'string' : m[3] !== undefined ? 'number' : m[4] !== undefined ? 'sign' : null
    if (kind) out.push({ from: m.index, to: m.index + m[0].length, text: m[0], kind })
  }
  return out
}

export interface Item {
  // The column's name and expression.
  name: string
  text: string
  // How values of several intervals merge; null: it is a key.
  merge: 'sum' | 'min' | 'max' | 'newest' | null
}

export interface Source {
  alias: string
  names: string[]
  join: boolean
}

export interface Outline {
  sources: Source[]
  items: Item[]
  // The rows are not grouped.
  raw: boolean
  window: string | null
  // The From, Join and Where clauses, and the alias of From: enough to query the same events again.
  head: string
  from: string
}

const CLAUSES = inAnyCase(['From', 'Join', 'Where', 'Sample', 'Window', 'GroupBy', 'Select'])

interface Clause {
  word: string
  from: number
  to: number
  inside: Token[]
}

// The clauses of the last query of the program, outside all brackets.
function outermost(all: Token[]): { start: number; clauses: Clause[] } {
  let start = 0
  let depth = 0
  let clauses: Clause[] = []
  all.forEach((t, i) => {
    if (t.text === '(') depth++
    else if (t.text === ')') depth--
    const last = clauses.at(-1)
    if (depth === 0 && t.text === ';' && i < all.length - 1) {
      start = all[i + 1]!.from
      clauses = []
    } else if (depth === 0 && t.kind === 'word' && CLAUSES(t.text)) clauses.push({ word: t.text.toLowerCase(), from: t.from, to: t.to, inside: [] })
    else if (last && t.text !== ';') {
      last.inside.push(t)
      last.to = t.to
    }
  })
  return { start, clauses }
}

function split(list: Token[]): Token[][] {
  const parts: Token[][] = [[]]
  let depth = 0
  for (const t of list) {
    if (t.text === '(') depth++
    else if (t.text === ')') depth--
    if (t.text === ',' && depth === 0) parts.push([])
    else parts.at(-1)!.push(t)
  }
  return parts.filter((p) => p.length > 0)
}

const textOf = (text: string, part: Token[]): string => (part.length ? text.slice(part[0]!.from, part.at(-1)!.to) : '')
// The last backquote may be missing while the name is being typed.
const unquoted = (name: string): string => name.replace(/`([^`]*)`?/g, '$1')

function itemOf(text: string, part: Token[]): Item {
  const as = part.findIndex((t) => t.text.toLowerCase() === 'as')
  const expression = as < 0 ? part : part.slice(0, as)
  const expressionText = textOf(text, expression)
  const name = as >= 0 && part[as + 1] ? unquoted(part[as + 1]!.text) : expression.map((t) => t.text).join('')
  const has = expression.some((t) => t.kind === 'word' && isAggregate(t.text))
  if (!has) return { name, text: expressionText, merge: null }
  // Only a single call with nothing around it merges as its function does.
  const first = expression[0]!.text.toUpperCase()
  let depth = 0
  const closes = expression.findIndex((t, i) => i > 0 && (depth += t.text === '(' ? 1 : t.text === ')' ? -1 : 0) === 0)
  const whole = expression.length === 1 || closes === expression.length - 1
  const merge = !whole ? 'newest' : first === 'SUM' || first === 'COUNT' ? 'sum' : first === 'MIN' ? 'min' : first === 'MAX' ? 'max' : 'newest'
  return { name, text: expressionText, merge }
}

function sourceOf(clause: Clause, join: boolean): Source | null {
  const [alias, , ...rest] = clause.inside
  if (!alias || alias.kind !== 'word') return null
  const on = rest.findIndex((t) => t.text.toLowerCase() === 'on')
  const names = (on < 0 ? rest : rest.slice(0, on))
    .filter((t, i, list) => (t.kind === 'word' || t.kind === 'name') && !isFilter(t.text) && list[i - 1]?.text.toLowerCase() !== 'from')
    .map((t) => unquoted(t.text))
  return { alias: alias.text, names, join }
}

export function outline(text: string): Outline | null {
  const { start, clauses } = outermost(tokens(text))
  const sources = clauses.flatMap((c) => (c.word === 'from' || c.word === 'join' ? (sourceOf(c, c.word === 'join') ?? []) : []))
  const select = clauses.find((c) => c.word === 'select')
  const from = sources.find((s) => !s.join)
  if (!select || !from) return null
  const items = split(select.inside).map((part) => itemOf(text, part))
  const window = clauses.find((c) => c.word === 'window')
  const kept = clauses.filter((c) => c.word === 'from' || c.word === 'join' || c.word === 'where')
  return {
    sources, items, from: from.alias,
    raw: !clauses.some((c) => c.word === 'groupby') && items.every((i) => i.merge === null),
    window: window ? textOf(text, window.inside) : null,
    head: text.slice(0, start) + kept.map((c) => text.slice(c.from, c.to)).join('\n'),
  }
}

// Named sub-queries before the last query, with their columns.
export function namedQueries(text: string): Map<string, string[]> {
  const out = new Map<string, string[]>()
  for (const m of text.matchAll(/(?:^|;)\s*([A-Za-z_]\w*)\s*:([^;]*)/g)) out.set(m[1]!, outline(m[2]!)?.items.map((i) => i.name) ?? [])
  return out
}

const PART = /^[A-Za-z_]\w*$/

// A tracepoint's name as the language writes it: in backquotes unless it is a plain name.
export const quoteName = (name: string): string =>
  name.split('.').every((p) => PART.test(p) && !isKeyword(p)) ? name : `\`${name}\``

function literal(value: unknown): string | null {
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t')}'`
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  return null
}

// A query for the traces of a group: the same clauses with its keys as conditions, one row per trace.
export function tracesOfGroup(o: Outline, keys: { item: Item; value: unknown }[], limits: { fromNs: bigint; untilNs: bigint } | null): string | null {
  const where: string[] = []
  for (const { item, value } of keys) {
    const said = literal(value)
    if (value === null) where.push(`Where !Has(${item.text})`)
    else if (said === null) return null
    else where.push(typeof value === 'boolean' ? `Where ${value ? '' : '!'}(${item.text})` : `Where (${item.text}) = ${said}`)
  }
  if (limits) where.push(`Where ${o.from}.time >= ${limits.fromNs} And ${o.from}.time < ${limits.untilNs}`)
  return `${o.head}\n${where.join('\n')}\nGroupBy ${o.from}.traceId Select ${o.from}.traceId, COUNT`
}

export interface Place {
  from: number
  to: number
  message: string
  hint: string
}

// The place a server's diagnostic points to: `query:LINE:COLUMN: message` with a line of ^~~~, or a name in quotes.
export function placeOf(text: string, message: string, hint: string): Place {
  const at = /^query:(\d+):(\d+): (.*)/.exec(message)
  const advice = [...message.matchAll(/^\s*\| (did you mean .*)$/gm)].map((m) => m[1]!).join(' ')
  if (at) {
    const lines = text.split('\n')
    const line = Math.min(Number(at[1]), lines.length) - 1
    const before = lines.slice(0, line).reduce((n, l) => n + l.length + 1, 0)
    // Columns count bytes.
    const prefix = new TextDecoder().decode(new TextEncoder().encode(lines[line]).slice(0, Number(at[2]) - 1))
    const from = Math.min(before + prefix.length, text.length)
    const length = /\^(~*)/.exec(message)?.[0].length ?? 1
    return { from, to: Math.min(from + length, text.length), message: `${at[1]}:${at[2]} ${at[3]!}`, hint: advice }
  }
  const name = /^tracepoint "([^"]+)"/.exec(message)?.[1] ?? ''
  const token = name ? tokens(text).find((t) => unquoted(t.text) === name) : undefined
  return { from: token?.from ?? -1, to: token?.to ?? -1, message, hint }
}
