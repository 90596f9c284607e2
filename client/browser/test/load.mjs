// Loads modules of src for the tests, bundled together so that they share state. What needs a real page is tested in
// tests/browser/client_test.mjs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))

export async function load(...modules) {
  globalThis.crypto ??= (await import('node:crypto')).webcrypto // node 18 has it only there
  const folder = mkdtempSync(join(tmpdir(), 'wherefore-client-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const entry = join(folder, 'entry.ts')
  writeFileSync(entry, modules.map((name) => `export * from ${JSON.stringify(join(ROOT, 'src', name))}`).join('\n'))
  const outfile = join(folder, 'bundle.mjs')
  buildSync({ entryPoints: [entry], bundle: true, format: 'esm', target: 'es2021', outfile })
  return import(pathToFileURL(outfile))
}
