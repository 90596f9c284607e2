import { totalsByOperation, type OperationTotal, type Waterfall } from '../trace/waterfall_model'

export interface OperationDifference {
  service: string
  name: string
  a: OperationTotal | null
  b: OperationTotal | null
  // Own time in b minus own time in a.
  difference: number
}

// Operations of both traces, largest difference in own time first.
export function compareOperations(a: Waterfall, b: Waterfall): OperationDifference[] {
  const rows = new Map<string, OperationDifference>()
  const row = (t: OperationTotal) => {
    const key = `${t.service}\u0000${t.name}`
    let r = rows.get(key)
    if (!r) rows.set(key, (r = { service: t.service, name: t.name, a: null, b: null, difference: 0 }))
    return r
  }
  for (const t of totalsByOperation(a)) row(t).a = t
  for (const t of totalsByOperation(b)) row(t).b = t
  const out = [...rows.values()]
  for (const r of out) r.difference = (r.b?.own ?? 0) - (r.a?.own ?? 0)
  return out.sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference) || (x.service + x.name < y.service + y.name ? -1 : 1))
}
