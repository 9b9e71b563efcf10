/** @throws TypeError for what is no object; `right` says which kind would be */
export function checkObject(name: string, value: unknown, right: string): asserts value is object {
  if (typeof value === 'object' && value !== null) return;
  const found = value == null ? String(value) : `of type ${typeof value}`;
  throw new TypeError(`${name} is ${found}; it must be an object ${right}.`);
}
