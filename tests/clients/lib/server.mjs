// The server under test: where it listens (server.json, named by WHEREFORE_SERVER), and how to ask it.
import { readFileSync } from 'node:fs';

export const server = JSON.parse(readFileSync(process.env.WHEREFORE_SERVER, 'utf8'));

export async function get(path, options = {}) {
  const response = await fetch(`http://${server.http}${path}`, options);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

// JSON with instants and durations (keys ending in _ns) as decimal texts: they do not fit a JavaScript number.
export function parseExact(text) {
  return JSON.parse(text.replace(/("[a-z_]*_ns":)\s*(-?\d+)/g, '$1"$2"'));
}

export async function getJson(path) {
  const answer = await get(path);
  if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${answer.text.slice(0, 500)}`);
  return parseExact(answer.text);
}

export async function counters() {
  return JSON.parse((await get('/api/v1/status')).text).counters;
}
