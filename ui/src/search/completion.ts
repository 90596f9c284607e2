import { getAttributeKeys, getAttributeValues, getOperations, getServices } from '../api/client'
import type { Suggestion } from '../parts/CompletingBar'
import { FIELDS, quote, STATUSES, tokenize, unquote } from './filter_language'

const LIMIT = 12

export function tokenAt(text: string, caret: number): { from: number; to: number; text: string } {
  return tokenize(text).find((t) => t.from <= caret && caret <= t.to) ?? { from: caret, to: caret, text: '' }
}

const contains = (prefix: string) => {
  const lower = prefix.toLowerCase()
  return (s: string) => s.toLowerCase().includes(lower)
}

// Suggestions from the server. Errors give none: the bar works without.
export async function complete(text: string, caret: number, signal: AbortSignal): Promise<Suggestion[]> {
  const token = tokenAt(text, caret).text
  try {
    const field = /^(service|operation|status|min|max):(.*)$/s.exec(token)
    if (field) return await completeValue(field[1]!, unquote(field[2]!), text, signal)
    const equals = token.indexOf('=')
    if (equals > 0) {
      const key = token.slice(0, equals)
      const values = await getAttributeValues(key, unquote(token.slice(equals + 1)), signal)
      return values.slice(0, LIMIT).map((v) => ({ insert: `${key}=${quote(v)}`, note: '', open: false }))
    }
    return await completeStart(token, signal)
  } catch {
    return []
  }
}

async function completeValue(field: string, prefix: string, text: string, signal: AbortSignal): Promise<Suggestion[]> {
  const value = (v: string, note = ''): Suggestion => ({ insert: `${field}:${quote(v)}`, note, open: false })
  if (field === 'status') return STATUSES.filter(contains(prefix)).map((s) => value(s))
  if (field === 'service') return (await getServices(signal)).filter(contains(prefix)).slice(0, LIMIT).map((s) => value(s))
  if (field === 'operation') {
    const service = tokenize(text).find((t) => t.text.startsWith('service:'))
    const services = service ? [unquote(service.text.slice(8))] : (await getServices(signal)).slice(0, 10)
    const lists = await Promise.all(services.map((s) => getOperations(s, signal).catch(() => [])))
    const operations = [...new Map(lists.flat().map((o) => [o.name, o])).values()]
    return operations.filter((o) => contains(prefix)(o.name)).slice(0, LIMIT).map((o) => value(o.name, o.kind))
  }
  const number = /^\d+(\.\d+)?/.exec(prefix)?.[0]
  return number ? ['ms', 's', 'us'].map((unit) => value(number + unit)) : ['10ms', '100ms', '1s'].map((d) => value(d))
}

async function completeStart(token: string, signal: AbortSignal): Promise<Suggestion[]> {
  const fields = FIELDS.filter(([name]) => name.startsWith(token)).map(([name, note]) => ({ insert: name, note, open: true }))
  const [services, keys] = await Promise.all([
    token ? getServices(signal).catch(() => []) : Promise.resolve([]),
    getAttributeKeys(token, signal).catch(() => []),
  ])
  return [
    ...fields,
    ...services.filter(contains(token)).slice(0, 4).map((s) => ({ insert: `service:${quote(s)}`, note: 'service', open: false })),
    ...keys.slice(0, LIMIT - fields.length).map((k) => ({ insert: `${k}=`, note: 'attribute', open: true })),
  ].slice(0, LIMIT)
}
