// dist/wherefore.js (ES module), dist/wherefore.iife.js (a plain script) and dist/types (declarations).
// A type error fails the build, because nothing else checks types.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))
rmSync('dist', { recursive: true, force: true })

// Members used only inside the client; short names save 4 % of the size. None may be an option, a method the page calls,
// or a name in the DOM; the browser test runs the result.
const INTERNAL = [
  'setting', 'decision', 'lastActivity', 'requestsInProgress', 'kept', 'wanted', 'pastBlock', 'room', 'record',
  'unload', 'traceNow', 'propagates', 'drain', 'spanId', 'sampled', 'traceId', 'answered', 'failed', 'settle', 'facts',
  'shown', 'current', 'id1', 'id2', 'ended', 'answer', 'begin', 'root', 'unit', 'count', 'write',
]

// es2021 is the min target because of BigInt, for Unix time in ns.
const common = {
  bundle: true, minify: true, target: 'es2021', legalComments: 'none', logLevel: 'warning',
  mangleProps: new RegExp(`^(${INTERNAL.join('|')})$`),
}
buildSync({ ...common, entryPoints: ['src/index.ts'], format: 'esm', outfile: 'dist/wherefore.js' })
buildSync({ ...common, entryPoints: ['src/script.ts'], format: 'iife', outfile: 'dist/wherefore.iife.js' })

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '--declaration', '--emitDeclarationOnly', '--outDir', 'dist/types'], { stdio: 'inherit' })
