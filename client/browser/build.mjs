// dist/wherefore.js (ES module), dist/wherefore.iife.js (a plain script) and dist/types (declarations).
// A type error fails the build: nothing else would look at them.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

process.chdir(fileURLToPath(new URL('.', import.meta.url)))
rmSync('dist', { recursive: true, force: true })

// Members of our own types that nobody outside names; shortened, they save 4% of what a page loads. None may be the
// name of an option, of a method the page calls, or of anything in the DOM: the browser test runs what is built here.
const INTERNAL = [
  'setting', 'decision', 'lastActivity', 'requestsUnderWay', 'kept', 'wanted', 'pastBlock', 'room', 'record',
  'unload', 'traceNow', 'propagates', 'drain', 'spanId', 'sampled', 'traceId', 'answered', 'failed', 'settle', 'facts',
  'shown', 'current', 'id1', 'id2', 'ended', 'answer', 'begin', 'root', 'unit', 'count', 'write',
]

// es2021 is the floor because of BigInt (Unix time in ns does not fit a double) and what came soon after it.
const common = {
  bundle: true, minify: true, target: 'es2021', legalComments: 'none', logLevel: 'warning',
  mangleProps: new RegExp(`^(${INTERNAL.join('|')})$`),
}
buildSync({ ...common, entryPoints: ['src/index.ts'], format: 'esm', outfile: 'dist/wherefore.js' })
buildSync({ ...common, entryPoints: ['src/script.ts'], format: 'iife', outfile: 'dist/wherefore.iife.js' })

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '--declaration', '--emitDeclarationOnly', '--outDir', 'dist/types'], { stdio: 'inherit' })
