/** When a token ends: that many seconds from now by the database's clock, at a moment, or never. */
export type TokenExpiry = { readonly seconds: number } | { readonly at: Date } | 'never';

/** Between these all moments have years of four digits, which whatever reads dates can read. No token ends later, unless it never does. */
export const FIRST_MOMENT = new Date('0001-01-01T00:00:00.000Z');
export const LAST_MOMENT = new Date('9999-12-31T23:59:59.999Z');
