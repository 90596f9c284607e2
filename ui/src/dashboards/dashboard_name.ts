// A title as the name in links: letters, digits and dashes.
export const nameFrom = (title: string): string =>
  title.normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 64)
