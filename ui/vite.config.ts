import { defineConfig } from 'vite'

// The build is embedded in the binary and served under a strict CSP: nothing may be inlined, neither as a
// data: URL nor as a script or style element, and the set of files stays small and flat.
export default defineConfig({
  esbuild: { jsx: 'automatic' },
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    target: 'es2021',
    reportCompressedSize: true,
  },
  server: {
    proxy: { '/api': process.env.WHEREFORE_URL ?? 'http://127.0.0.1:8642' },
  },
})
