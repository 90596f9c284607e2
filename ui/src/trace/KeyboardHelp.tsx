import { Dialog } from '../parts/Dialog'

const KEYS: [string, string][] = [
  ['J  K  or  ↓  ↑', 'next or previous span'],
  ['←  →', 'fold, unfold, or go to the parent'],
  ['Enter', 'fold or unfold the span'],
  ['W  S', 'zoom in, zoom out'],
  ['A  D', 'move left, move right'],
  ['F', 'zoom to the selected span'],
  ['0', 'show the whole trace'],
  ['/', 'find in this trace'],
  ['N  Shift+N', 'next or previous match'],
  ['E', 'next error'],
  ['M', 'the span with most own time'],
  ['C', 'switch between aligned and raw clocks'],
  ['1  2  3  4', 'waterfall, table, critical path, flame chart'],
  ['P', 'show or hide the critical path in the waterfall'],
  ['[  ]', 'critical path from the selected span, to the selected span'],
  ['G', 'group rows by execution unit, service or thread, or not at all'],
  ['X', 'explain: what it waited for, including other requests'],
  ['1  2  3  in the flame chart', 'time order, left heavy, sandwich'],
  ['Esc', 'clear the selection'],
  ['Ctrl+K', 'go to a trace, service or view'],
  ['?', 'this help'],
]

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <table className="keys">
        <tbody>
          {KEYS.map(([keys, meaning]) => (
            <tr key={keys}>
              <th scope="row">
                {keys.split('  ').map((k) => (/^(or|in .*)$/.test(k) ? ` ${k} ` : <kbd key={k}>{k}</kbd>))}
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted">With the mouse: drag to move in time, Ctrl+wheel to zoom, double-click a bar to zoom to it, drag across the ruler or the overview to zoom to a time range.</p>
    </Dialog>
  )
}
