// A trace id may be typed short or in capitals: the contract pads it with zeros to 32 lower-case digits.
export const traceIdOf = (text: string): string | null =>
  /^[0-9a-fA-F]{1,32}$/.test(text) ? text.toLowerCase().padStart(32, '0') : null
