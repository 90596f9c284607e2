// The name for links, made from the title: letters, digits and dashes.
export const nameFrom = (title: string): string =>
  title.normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 64)
