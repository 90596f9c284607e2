import { parseDuration } from '../parts/format'

// The language of the filter bar: `service:frontend operation:"POST /checkout" status:error min:100ms max:2s
// http.route=/cart`. It maps one to one onto the parameters of /api/v1/traces, so the URL, the bar and the
// command line say the same thing.

export interface Filter {
  service: string
  operation: string
  status: string
  min: string
  max: string
  attrs: [string, string][]
}

export const emptyFilter = (): Filter => ({ service: '', operation: '', status: '', min: '', max: '', attrs: [] })

export interface Token {
  from: number
  to: number
  text: string
}

export type Parsed =
  | { ok: true; filter: Filter; traceId: string | null }
  | { ok: false; message: string; at: Token }

export const FIELDS: [string, string][] = [
  ['service:', 'service that answered first'],
  ['operation:', 'name of a span'],
  ['status:', 'error, ok or unset'],
  ['min:', 'at least this long, e.g. min:250ms'],
  ['max:', 'at most this long, e.g. max:2s'],
]
export const STATUSES = ['error', 'ok', 'unset']

// Splits at spaces outside quotes. Positions are for completion and for marking mistakes.
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let from = -1
  let quoted = false
  for (let i = 0; i <= text.length; i++) {
    const c = text[i]
    if (c === '"' && text[i - 1] !== '\\') quoted = !quoted
    if (c === undefined || (c === ' ' && !quoted)) {
      if (from >= 0) tokens.push({ from, to: i, text: text.slice(from, i) })
      from = -1
    } else if (from < 0) from = i
  }
  return tokens
}

export function unquote(text: string): string {
  const inner = /^"((?:[^"\\]|\\.)*)"?$/.exec(text)
  return inner ? inner[1]!.replace(/\\(.)/g, '$1') : text
}

export const quote = (text: string): string => (/[\s"]/.test(text) || text === '' ? `"${text.replace(/(["\\])/g, '\\$1')}"` : text)

export function parseFilter(text: string): Parsed {
  const filter = emptyFilter()
  let traceId: string | null = null
  for (const token of tokenize(text)) {
    const field = /^(service|operation|status|min|max):(.*)$/s.exec(token.text)
    if (field) {
      const name = field[1] as 'service' | 'operation' | 'status' | 'min' | 'max'
      const value = unquote(field[2]!)
      if (value === '') return { ok: false, message: `${name}: needs a value`, at: token }
      if (filter[name] !== '') return { ok: false, message: `${name}: is given twice`, at: token }
      if (name === 'status' && !STATUSES.includes(value)) return { ok: false, message: `status is error, ok or unset, not “${value}”`, at: token }
      if ((name === 'min' || name === 'max') && parseDuration(value) === null)
        return { ok: false, message: `“${value}” is not a duration: number and ns, us, ms, s, m, h or d`, at: token }
      filter[name] = value
      continue
    }
    const equals = token.text.indexOf('=')
    if (equals > 0) {
      const value = unquote(token.text.slice(equals + 1))
      if (value === '') return { ok: false, message: `${token.text} needs a value`, at: token }
      filter.attrs.push([token.text.slice(0, equals), value])
      continue
    }
    if (/^[0-9a-fA-F]{32}$/.test(token.text)) {
      traceId = token.text.toLowerCase()
      continue
    }
    return { ok: false, message: `“${token.text}” is not a filter: try service:${token.text} or KEY=${token.text}`, at: token }
  }
  if (filter.min && filter.max && parseDuration(filter.min)! > parseDuration(filter.max)!) {
    const at = tokenize(text).find((t) => t.text.startsWith('max:'))!
    return { ok: false, message: 'min is more than max: nothing can match', at }
  }
  return { ok: true, filter, traceId }
}

export function printFilter(f: Filter): string {
  const parts: string[] = []
  if (f.service) parts.push(`service:${quote(f.service)}`)
  if (f.operation) parts.push(`operation:${quote(f.operation)}`)
  if (f.status) parts.push(`status:${f.status}`)
  if (f.min) parts.push(`min:${f.min}`)
  if (f.max) parts.push(`max:${f.max}`)
  for (const [key, value] of f.attrs) parts.push(`${key}=${quote(value)}`)
  return parts.join(' ')
}

export function filterFromParams(params: URLSearchParams): Filter {
  return {
    service: params.get('service') ?? '',
    operation: params.get('operation') ?? '',
    status: params.get('status') ?? '',
    min: params.get('min_duration') ?? '',
    max: params.get('max_duration') ?? '',
    attrs: params.getAll('attr').flatMap((text): [string, string][] => {
      const equals = text.indexOf('=')
      return equals > 0 ? [[text.slice(0, equals), text.slice(equals + 1)]] : []
    }),
  }
}

// The API spells µs as us.
const ascii = (text: string) => text.replace('µ', 'u').replace(/\s+/g, '')

export function writeFilter(f: Filter, params: URLSearchParams): void {
  const set = (key: string, value: string) => (value ? params.set(key, value) : params.delete(key))
  set('service', f.service)
  set('operation', f.operation)
  set('status', f.status)
  set('min_duration', ascii(f.min))
  set('max_duration', ascii(f.max))
  params.delete('attr')
  for (const [key, value] of f.attrs) params.append('attr', `${key}=${value}`)
}
