import { addsUp, seriesOf, totalOf, valueText, type Group, type Results } from './query_results'

// Rows by one key, columns by another, totals in the margins (Pivot Tracing, figure 1c).

export interface Cell {
  groups: Group[]
  total: number | null
  series: (number | null)[]
}

export interface Pivot {
  rowName: string
  columnName: string | null
  rows: string[]
  columns: string[]
  cells: Map<string, Cell>
  rowTotals: Cell[]
  columnTotals: Cell[]
  grand: Cell
  // Whether values add up, so that there are totals.
  margins: boolean
  shownColumns: number
}

export const cellKey = (row: string, column: string): string => JSON.stringify([row, column])

const ROWS = 200
const COLUMNS = 24
const collate = new Intl.Collator('en', { numeric: true })

// `across`: the key of the columns, or null for one column. Other keys are summed over; if values do not add up, they
// become part of the row's name.
export function pivotOf(results: Results, value: number, down: number, across: number | null): Pivot {
  const margins = addsUp(results.values[value]!)
  const others = results.keys.map((_, i) => i).filter((i) => i !== down && i !== across)
  const rowKeys = margins ? [down] : [down, ...others]
  const rowOf = (g: Group) => rowKeys.map((k) => valueText(g.keys[k] ?? null)).join(' · ')
  const columnOf = (g: Group) => (across === null ? '' : valueText(g.keys[across]!))
  const inCell = new Map<string, Group[]>()
  const inRow = new Map<string, Group[]>()
  const inColumn = new Map<string, Group[]>()
  const push = (map: Map<string, Group[]>, key: string, g: Group) => void (map.get(key)?.push(g) ?? map.set(key, [g]))
  for (const g of results.groups) {
    push(inCell, cellKey(rowOf(g), columnOf(g)), g)
    push(inRow, rowOf(g), g)
    push(inColumn, columnOf(g), g)
  }
  const cell = (groups: Group[]): Cell => ({ groups, total: totalOf(results, groups, value), series: seriesOf(results, groups, value) })
  const rows = [...inRow].map(([name, groups]) => ({ name, cell: cell(groups) }))
  rows.sort((a, b) => (b.cell.total ?? -Infinity) - (a.cell.total ?? -Infinity) || collate.compare(a.name, b.name))
  const columns = [...inColumn.keys()].sort(collate.compare)
  const shown = rows.slice(0, ROWS)
  return {
    rowName: rowKeys.map((k) => results.keys[k]?.name ?? '').join(' · '), columnName: across === null ? null : results.keys[across]!.name,
    rows: shown.map((r) => r.name), columns: columns.slice(0, COLUMNS),
    cells: new Map([...inCell].map(([key, groups]) => [key, cell(groups)])),
    rowTotals: shown.map((r) => r.cell), columnTotals: columns.slice(0, COLUMNS).map((c) => cell(inColumn.get(c)!)),
    grand: cell(results.groups), margins, shownColumns: columns.length,
  }
}
