// What a page loads: at most 6 kB, and no dependency.
// parallel: yes
import test from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ROOT } from './load.mjs'

for (const file of ['wherefore.js', 'wherefore.iife.js']) {
  test(`dist/${file} is at most 6,000 bytes by gzip`, () => {
    const path = join(ROOT, 'dist', file)
    assert.ok(existsSync(path), `${path} is not built; run: npm run build`)
    const size = gzipSync(readFileSync(path), { level: 9 }).length
    console.log(`# ${file}: ${size} bytes`)
    assert.ok(size <= 6000, `${size} bytes`)
  })
}

test('no dependency at run time, and a lock file that names no host', () => {
  assert.equal(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).dependencies, undefined)
  assert.doesNotMatch(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'), /"resolved"/)
})
