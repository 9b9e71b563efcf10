/** Far more than the keys of any issuer take. */
const LARGEST_BYTES = 1_048_576;

/** The body that a URL answers with, as long as it is a 200 of a sane size. */
export async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  // Keys are trusted because of where they are from, so nobody may send us elsewhere.
  const response = await fetch(url, {
    signal,
    redirect: 'manual',
    headers: { Accept: 'application/json, application/jwk-set+json' },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answers ${response.status}, should answer 200; redirects are not followed`);
  }
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > LARGEST_BYTES) throw new Error(`${url} answers with more than ${LARGEST_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
