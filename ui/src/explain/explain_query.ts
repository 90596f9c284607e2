// The API query for the page's URL; parameters have the same names in both.

export const DEFAULT_SLOWEST = 20
export const DEFAULT_SINCE = '15m'

export function explainQuery(id: string, params: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams()
  const keys = id ? ['from', 'to'] : ['service', 'operation', 'until', 'slowest']
  for (const key of keys) if (params.get(key)) query.set(key, params.get(key)!)
  if (!id) {
    const since = params.get('since') ?? DEFAULT_SINCE
    query.set('since', since === 'all' ? '0' : since)
  }
  for (const change of params.getAll('what_if')) query.append('what_if', change)
  if (params.get('baseline') === 'true') query.set('baseline', 'true')
  return query
}

// Whether the URL names a request, or a service and an operation.
export const canExplain = (id: string, params: URLSearchParams): boolean => id !== '' || (params.has('service') && params.has('operation'))

export function commandFor(id: string, query: URLSearchParams): string {
  const word = (text: string) => (/^[\w./:=+-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`)
  const flags = [...query].map(([key, value]) => (key === 'baseline' ? '--baseline' : `--${key.replace(/_/g, '-')} ${word(value)}`))
  return ['wherefore explain', ...(id ? [id] : []), ...flags].join(' ')
}
