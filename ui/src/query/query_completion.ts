import { getAttributeKeys, getOperations, getServices } from '../api/client'
import { listTracepoints, type Tracepoint } from '../api/queries'
import type { Suggestion } from '../parts/CompletingBar'
import { AGGREGATES, FILTERS, FUNCTIONS, isFilter, isKeyword, namedQueries, outline, quoteName, tokens, type Source, type Token } from './query_text'

export type Mode = 'live' | 'stored'

const LIMIT = 12
const DEFAULTS: [string, string][] = [
  ['host', 'where it happened'], ['procName', 'name of the process'], ['procId', 'pid'], ['time', 'Unix ns'], ['tracepoint', 'name of the tracepoint'],
]
const STORED: [string, string][] = [
  ['duration', 'ns, at the end of a span'], ['alignedTime', 'time with host clocks aligned'], ['traceId', 'its trace'], ['spanId', 'its span'], ['kind', 'kind of span'], ['status', 'ok, error or unset'],
]

// The names a query can use; loaded once per visit.
export async function tracepointsOf(mode: Mode, signal?: AbortSignal): Promise<Tracepoint[]> {
  if (mode === 'live') return listTracepoints(signal)
  const services = (await getServices(signal)).slice(0, 20)
  const lists = await Promise.all(services.map((s) => getOperations(s, signal).then((ops) => ops.map((o) => ({ ...o, service: s })), () => [])))
  const names = new Map<string, string>()
  for (const o of lists.flat()) if (!names.has(o.name)) names.set(o.name, o.service)
  return [...names].flatMap(([name, service]) => [
    { name: `${name}.end`, exports: [], note: `${service}, at its end` },
    { name, exports: [], note: `${service}, at its start` },
  ])
}

// `GET /cart.end` is the event `end` of the span `GET /cart`.
const written = (name: string, mode: Mode): string =>
  mode === 'stored' && name.endsWith('.end') ? `${quoteName(name.slice(0, -4))}.end` : quoteName(name)

export function wordAt(text: string, caret: number): { from: number; to: number; text: string } {
  const token = tokens(text).find((t) => t.from < caret && caret <= t.to && t.kind !== 'sign' && t.kind !== 'string')
  return token ? { from: token.from, to: token.to, text: text.slice(token.from, caret) } : { from: caret, to: caret, text: '' }
}

type Place = 'source' | 'join-alias' | 'left' | 'right' | 'expression' | 'new-name' | 'start'

// What may come at the caret, from the tokens before it.
function placeAfter(before: Token[]): Place {
  const last = before.at(-1)
  if (!last || last.text === ';' || (last.text === ':' && before.length === 2)) return 'start'
  const word = last.text.toLowerCase()
  if (word === 'from' || word === 'join' || word === 'as') return 'new-name'
  if (word === 'on') return 'left'
  if (last.text === '->') return 'right'
  // Look back for the keyword that applies here; inside the brackets of a filter come names.
  for (let i = before.length - 1; i >= 0; i--) {
    const t = before[i]!.text
    if (t.toLowerCase() === 'in') return last.text === ',' || last.text === '(' || word === 'in' ? 'source' : 'expression'
    if (t === '(' && before[i - 1] && isFilter(before[i - 1]!.text)) return 'source'
    if (isKeyword(t)) return 'expression'
  }
  return 'expression'
}

const KEYWORD_NOTES: [string, string][] = [
  ['From', 'x In tracepoint'], ['In', ''], ['Join', 'y In tracepoint On y -> x'], ['On', 'y -> x: y happened before x'], ['Where', 'condition'], ['GroupBy', 'one row per value'],
  ['Select', 'columns of the result'], ['Window', 'one row per time window'], ['Sample', 'share of requests'], ['And', ''], ['Or', ''], ['Not', ''], ['As', 'name of a column'],
]

const named = (list: [string, string][], open = false): Suggestion[] => list.map(([insert, note]) => ({ insert, note, open }))

async function variables(source: Source, mode: Mode, known: Tracepoint[], text: string, prefix: string, signal: AbortSignal): Promise<Suggestion[]> {
  const of = source.names
  const named_ = namedQueries(text)
  const columns = of.flatMap((n) => named_.get(n) ?? [])
  if (columns.length > 0) return columns.map((c) => ({ insert: `${source.alias}.${quoteName(c)}`, note: 'column', open: false }))
  const own = [...new Set(known.filter((t) => of.includes(t.name)).flatMap((t) => t.exports))].map((e): [string, string] => [e, `of ${of.join(', ')}`])
  const attributes = mode === 'stored' ? (await getAttributeKeys(prefix, signal).catch(() => [])).map((k): [string, string] => [quoteName(k), 'attribute']) : []
  return named([...own, ...DEFAULTS, ...(mode === 'stored' ? STORED : []), ...attributes].map(([v, note]) => [`${source.alias}.${v}`, note]))
}

// The aliases so far. The text may not be a complete query yet, so they are also searched word by word.
function sources(text: string): Source[] {
  const found = outline(`${text}\nSelect COUNT`)?.sources ?? outline(text)?.sources
  const all = tokens(text)
  const loose = all.flatMap((t, i): Source[] => {
    const word = t.text.toLowerCase()
    if ((word !== 'from' && word !== 'join') || all[i + 2]?.text.toLowerCase() !== 'in') return []
    const rest = all.slice(i + 3).filter((s) => s.text !== '(' && !isFilter(s.text) && s.kind !== 'number' && s.text !== ',')
    return [{ alias: all[i + 1]!.text, names: rest[0] ? [rest[0].text.replace(/`/g, '')] : [], join: word === 'join' }]
  })
  const byAlias = new Map(loose.map((s) => [s.alias, s]))
  for (const s of found ?? []) byAlias.set(s.alias, s)
  return [...byAlias.values()]
}

export async function complete(text: string, caret: number, mode: Mode, known: Tracepoint[], signal: AbortSignal): Promise<Suggestion[]> {
  const word = wordAt(text, caret)
  const before = tokens(text.slice(0, word.from))
  const place = placeAfter(before)
  const typed = word.text.toLowerCase().replace(/`/g, '')
  const fits = (s: Suggestion) => s.insert.toLowerCase().replace(/`/g, '').includes(typed)
  // Suggestions that start with the typed text come first.
  const rank = (list: Suggestion[]) =>
    list.filter(fits).sort((a, b) => Number(b.insert.toLowerCase().startsWith(typed)) - Number(a.insert.toLowerCase().startsWith(typed))).slice(0, LIMIT)
  if (place === 'new-name') return []
  if (place === 'start') return rank(named([['From', 'x In tracepoint']]))
  const aliases = sources(text)
  if (place === 'source') {
    return rank([
      ...[...namedQueries(text).keys()].map((n) => ({ insert: n, note: 'sub-query', open: false })),
      // Inside brackets no space follows.
      ...known.map((t) => ({ insert: written(t.name, mode), note: t.note, open: before.some((b, i) => b.text === '(' && !before.slice(i).some((c) => c.text === ')')) })),
      ...(before.at(-1)?.text === '(' ? [] : FILTERS.map((f) => ({ insert: `${f}(`, note: f.endsWith('N') ? 'n, tracepoint' : 'of the events before', open: true }))),
    ])
  }
  if (place === 'left') {
    const join = before.map((t) => t.text.toLowerCase()).lastIndexOf('join')
    return rank([{ insert: `${before[join + 1]?.text ?? ''} ->`, note: 'happened before', open: false }])
  }
  if (place === 'right') return rank(aliases.filter((a) => a.alias !== before.at(-2)?.text).map((a) => ({ insert: a.alias, note: a.names.join(', '), open: false })))
  const dot = word.text.indexOf('.')
  const alias = dot > 0 ? aliases.find((a) => a.alias === word.text.slice(0, dot)) : undefined
  if (alias) return rank(await variables(alias, mode, known, text, word.text.slice(dot + 1), signal))
  if (typed === '' && before.at(-1)?.kind !== 'sign' && !isKeyword(before.at(-1)?.text ?? '')) return []
  return rank([
    ...aliases.map((a) => ({ insert: `${a.alias}.`, note: a.names.join(', '), open: true })),
    ...named(KEYWORD_NOTES),
    ...AGGREGATES.map((a) => ({ insert: a === 'COUNT' ? a : `${a}(`, note: 'aggregate', open: a !== 'COUNT' })),
    ...FUNCTIONS.map((f) => ({ insert: `${f}(`, note: 'function', open: true })),
  ])
}
