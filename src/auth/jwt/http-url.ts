/** Whether a text is an absolute URL that can be fetched over HTTP: with neither user nor fragment, and a query only where it may have one. */
export function isHttpUrl(text: unknown, { query = false } = {}): text is string {
  if (typeof text !== 'string' || !/^https?:\/\/[^\s#]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '' && (query || !text.includes('?'));
}
