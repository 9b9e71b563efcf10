/** Issued tokens, also such as were cut short, and JWTs: what may stand on a command line by mistake. */
const TOKEN_LIKE = /plant_[0-9A-Za-z]{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]*/g;

/** What the console tells may repeat arguments, and must not repeat a token. */
export function withoutTokens(text: string): string {
  return text.replace(TOKEN_LIKE, '[access token]');
}

/** Whether a token stands in there, or most of one. */
export function holdsToken(text: string): boolean {
  return text.search(TOKEN_LIKE) >= 0;
}
