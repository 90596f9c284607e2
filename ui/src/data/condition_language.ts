import type { Column } from '../api/datasets'

// Conditions on a dataset's columns, as `--where` reads them:
//   conditions = condition { "and" condition } ;
//   condition  = [ "not" ] key ( compare literal | "in" "(" literal { "," literal } ")" | "exists" ) ;
// The server decides; this parser marks errors and completes while typing.

export interface Token {
  kind: 'name' | 'string' | 'number' | 'sign'
  text: string
  from: number
  to: number
  closed: boolean
}

export interface Condition {
  column: string
  op: string
  negated: boolean
  values: string[]
}

// What may come next where parsing stopped, for completion.
export type Expected = 'column' | 'comparison' | 'value' | 'and'

export type Conditions =
  | { ok: true; conditions: Condition[] }
  | { ok: false; message: string; at: number }

const UNITS = ['ns', 'us', 'ms', 's', 'm', 'h', 'B', 'kB', 'MB', 'GB']
export const COMPARISONS = ['=', '!=', '<', '<=', '>', '>=', '~', 'in (', 'exists']
const SIGNS = ['<=', '>=', '!=', '=', '<', '>', '~', '(', ')', ',', '.']

export function tokenizeConditions(text: string): Token[] {
  const out: Token[] = []
  let i = 0
  while (i < text.length) {
    const rest = text.slice(i)
    const space = /^\s+/.exec(rest)
    if (space) {
      i += space[0].length
      continue
    }
    const name = /^[A-Za-z_][A-Za-z0-9_]*/.exec(rest)
    const number = /^-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[A-Za-z]*/.exec(rest)
    const string = /^"((?:[^"\\]|\\.)*)("?)/s.exec(rest)
    const sign = SIGNS.find((s) => rest.startsWith(s))
    const push = (kind: Token['kind'], length: number, value: string, closed = true) => {
      out.push({ kind, text: value, from: i, to: i + length, closed })
      i += length
    }
    if (name) push('name', name[0].length, name[0])
    else if (number) push('number', number[0].length, number[0])
    else if (string) push('string', string[0].length, string[1]!.replace(/\\(.)/gs, (_, c: string) => (c === 'n' ? '\n' : c === 't' ? '\t' : c)), string[2] === '"')
    else if (sign) push('sign', sign.length, sign)
    else push('sign', 1, rest[0]!)
  }
  return out
}

export const quoteText = (text: string): string => `"${text.replace(/(["\\])/g, '\\$1').replace(/\n/g, '\\n').replace(/\t/g, '\\t')}"`
const RESERVED = ['not', 'and', 'in', 'exists', 'true', 'false']
export const quoteKey = (name: string): string =>
  /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/.test(name) && !RESERVED.includes(name) ? name : quoteText(name)

export function nearest(word: string, known: string[]): string | null {
  let best: string | null = null
  let bestDistance = Math.floor(word.length / 3) + 2
  for (const name of known) {
    const d = distance(word.toLowerCase(), name.toLowerCase(), bestDistance)
    if (d < bestDistance) {
      bestDistance = d
      best = name
    }
  }
  return best
}

function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    row = next
  }
  return row[b.length]!
}

class Reader {
  at = 0
  fault: { message: string; at: number } | null = null
  constructor(readonly tokens: Token[], readonly end: number, readonly columns: Column[] | null) {}

  peek(ahead = 0): Token | undefined {
    return this.tokens[this.at + ahead]
  }
  fail(message: string, at = this.peek()?.from ?? this.end): false {
    this.fault ??= { message, at }
    return false
  }
  found(): string {
    const token = this.peek()
    return token ? `found “${token.text}”` : 'found the end'
  }
  isName(word: string, ahead = 0): boolean {
    const token = this.peek(ahead)
    return token?.kind === 'name' && token.text === word
  }
  isSign(sign: string): boolean {
    const token = this.peek()
    return token?.kind === 'sign' && token.text === sign
  }

  key(): Column | null {
    const token = this.peek()
    if (token?.kind !== 'name' && token?.kind !== 'string') {
      this.fail(`expected a column, ${this.found()}`)
      return null
    }
    if (!token.closed) {
      this.fail('missing closing "')
      return null
    }
    let name = token.text
    this.at++
    if (token.kind === 'name') {
      while (this.isSign('.') && this.peek(1)?.kind === 'name') {
        name += `.${this.peek(1)!.text}`
        this.at += 2
      }
    }
    if (!this.columns) return { name, type: 'text' }
    const column = this.columns.find((c) => c.name === name)
    if (column) return column
    const similar = nearest(name, this.columns.map((c) => c.name))
    this.fail(`no column “${name}”${similar ? `; did you mean ${similar}?` : ''}`, token.from)
    return null
  }

  value(column: Column): string | null {
    const token = this.peek()
    if (!token || token.kind === 'sign' || (token.kind === 'name' && token.text !== 'true' && token.text !== 'false')) {
      const hint = token?.kind === 'name' ? ` (put text in quotes: "${token.text}")` : ''
      this.fail(`expected a value, ${this.found()}${hint}`)
      return null
    }
    if (!token.closed) {
      this.fail('missing closing "')
      return null
    }
    const unit = token.kind === 'number' ? /[A-Za-z]+$/.exec(token.text.replace(/e[+-]?\d+/i, ''))?.[0] : undefined
    if (unit && !UNITS.includes(unit)) {
      this.fail(`unknown unit “${unit}”; use ${UNITS.join(', ')}`)
      return null
    }
    if (this.columns) {
      const texts = column.type === 'text' || column.type === 'stack'
      if (texts && token.kind === 'number') return this.mismatch(`${column.name} is text: write "${token.text}"`)
      if (column.type === 'bool' && token.kind !== 'name') return this.mismatch(`${column.name} is true or false`)
      if (!texts && column.type !== 'bool' && token.kind !== 'number') return this.mismatch(`${column.name} is a number`)
    }
    this.at++
    return token.text
  }
  mismatch(message: string): null {
    this.fail(message)
    return null
  }

  condition(): Condition | null {
    const next = this.peek(1)
    const negated = this.isName('not') && next !== undefined && next.kind !== 'sign' && !this.isName('in', 1) && !this.isName('exists', 1)
    if (negated) this.at++
    const column = this.key()
    if (!column) return null
    if (this.isName('exists')) {
      this.at++
      return { column: column.name, op: 'exists', negated, values: [] }
    }
    if (this.isName('in')) {
      this.at++
      if (!this.isSign('(')) return this.fail('expected ( after in') || null
      const values: string[] = []
      do {
        this.at++
        const value = this.value(column)
        if (value === null) return null
        values.push(value)
      } while (this.isSign(','))
      if (!this.isSign(')')) return this.fail(`expected , or ), ${this.found()}`) || null
      this.at++
      return { column: column.name, op: 'in', negated, values }
    }
    const token = this.peek()
    if (token?.kind !== 'sign' || !['=', '!=', '<', '<=', '>', '>=', '~'].includes(token.text))
      return this.fail(`expected a comparison (=, !=, <, <=, >, >=, ~, in or exists), ${this.found()}`) || null
    if (token.text === '~' && this.columns && column.type !== 'text' && column.type !== 'stack') return this.fail(`~ matches text; ${column.name} is ${column.type === 'bool' ? 'true or false' : 'a number'}`) || null
    this.at++
    const value = this.value(column)
    return value === null ? null : { column: column.name, op: token.text, negated, values: [value] }
  }
}

// If `columns` is null (not loaded yet), only the grammar is checked.
export function parseConditions(text: string, columns: Column[] | null): Conditions {
  const reader = new Reader(tokenizeConditions(text), text.length, columns)
  const conditions: Condition[] = []
  while (reader.peek() || conditions.length > 0) {
    const condition = reader.condition()
    if (!condition) break
    conditions.push(condition)
    if (!reader.peek()) break
    if (!reader.isName('and')) {
      reader.fail(`expected and, ${reader.found()}`)
      break
    }
    reader.at++
  }
  return reader.fault ? { ok: false, ...reader.fault } : { ok: true, conditions }
}

export const joinConditions = (...parts: (string | null | undefined)[]): string => parts.filter((p) => p?.trim()).join(' and ')

// The condition that selects rows with this value; null means the column does not exist.
export function cellCondition(column: Column, value: string | number | bigint | boolean | null): string {
  const key = quoteKey(column.name)
  if (value === null) return `not ${key} exists`
  return `${key} = ${typeof value === 'string' ? quoteText(value) : String(value)}`
}

// The word at the caret: its kind, its column, and the part typed so far.
export function expectedAt(text: string, caret: number, columns: Column[]): { kind: Expected; from: number; to: number; prefix: string; column: string } {
  const tokens = tokenizeConditions(text.slice(0, caret))
  const last = tokens.at(-1)
  const typing = last && last.to === caret && (last.kind !== 'sign' || !['(', ','].includes(last.text)) ? last : undefined
  const before = typing ? tokens.slice(0, -1) : tokens
  const previous = before.at(-1)
  const range = { from: typing?.from ?? caret, to: typing ? Math.max(caret, endOfWord(text, caret, typing)) : caret, prefix: typing?.text ?? '' }
  const column = columnBefore(before, columns)
  if (!previous || (previous.kind === 'name' && (previous.text === 'and' || previous.text === 'not'))) return { kind: 'column', ...range, column: '' }
  if (previous.kind === 'sign') {
    if (previous.text === ')') return { kind: 'and', ...range, column: '' }
    return { kind: 'value', ...range, column }
  }
  const isKey = columns.some((c) => c.name === previous.text)
  const twoBack = before.at(-2)
  if (isKey && !(twoBack?.kind === 'sign')) return { kind: 'comparison', ...range, column: previous.text }
  return { kind: 'and', ...range, column: '' }
}

function endOfWord(text: string, caret: number, typing: Token): number {
  if (typing.kind === 'string') {
    if (typing.closed) return caret
    const close = text.indexOf('"', caret)
    return close < 0 ? text.length : close + 1
  }
  return caret + (/^\w*/.exec(text.slice(caret))?.[0].length ?? 0)
}

function columnBefore(tokens: Token[], columns: Column[]): string {
  for (let i = tokens.length - 1; i >= 0; i--) {
    const token = tokens[i]!
    if (token.kind === 'sign' && !['(', ',', '='].includes(token.text) && !['!=', '<', '<=', '>', '>=', '~'].includes(token.text)) return ''
    if ((token.kind === 'name' || token.kind === 'string') && columns.some((c) => c.name === token.text)) return token.text
    if (token.kind === 'name' && token.text === 'and') return ''
  }
  return ''
}
