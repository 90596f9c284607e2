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
  ['1  2', 'waterfall, table'],
  ['Esc', 'clear the selection'],
  ['Ctrl+K', 'go anywhere'],
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
                {keys.split('  ').map((k) => (k === 'or' ? ' or ' : <kbd key={k}>{k}</kbd>))}
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted">With the mouse: drag to move in time, Ctrl+wheel to zoom, double-click a bar to fill the view with it, drag across the ruler or the overview to choose a stretch.</p>
    </Dialog>
  )
}
