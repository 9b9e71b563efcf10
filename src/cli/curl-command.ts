/** A command that creates a plant, and another one each time: its id is the time. */
export function curlCommand(url: string, token: string): string {
  const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
  const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  return `curl -X POST ${url} ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${plant}'`;
}
