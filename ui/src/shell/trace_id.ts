// Pads a typed trace id with zeros to 32 lower-case digits, as the API does.
export const traceIdOf = (text: string): string | null =>
  /^[0-9a-fA-F]{1,32}$/.test(text) ? text.toLowerCase().padStart(32, '0') : null
