// Result lines as tests/README.md asks for: "ok NAME" and "not ok NAME", one for each thing checked.
import assert from 'node:assert/strict';

let failed = false;

export async function check(name, body) {
  try {
    await body(assert);
    console.log(`ok ${name}`);
  } catch (error) {
    failed = true;
    console.log(`not ok ${name}`);
    console.log(`    ${String(error?.stack ?? error).replace(/\n/g, '\n    ')}`);
  }
}

// Ends the process: exporters keep sockets open.
export function finish() {
  process.exit(failed ? 1 : 0);
}
