/** When a token ends: that many seconds from now by the database's clock, at a moment, or never. */
export type TokenExpiry = { readonly seconds: number } | { readonly at: Date } | 'never';
