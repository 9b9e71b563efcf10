/** What a promise rejects with; it must. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const rejections: unknown[] = [];
  await promise.catch((reason: unknown) => rejections.push(reason));
  if (rejections.length === 0) throw new Error('The promise did not reject.');
  return rejections[0];
}
