/** A Map that forgets what was not used (by `get` or `set`) for longest, as soon as its entries together are larger than `maxSize`. */
export class LruMap<Key, Value> extends Map<Key, Value> {
  private total = 0;

  /** @param sizeOf the size of a value, which does not change */
  constructor(
    private readonly maxSize: number,
    private readonly sizeOf: (value: Value) => number = () => 1,
  ) {
    super();
  }

  override get(key: Key): Value | undefined {
    const value = super.get(key);
    // A Map keeps its entries in the order of their insertion.
    if (value !== undefined && super.delete(key)) super.set(key, value);
    return value;
  }

  /** Does not count as a use. */
  peek(key: Key): Value | undefined {
    return super.get(key);
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    this.total += this.sizeOf(value);
    for (const oldest of this.keys()) {
      if (this.total <= this.maxSize) break;
      this.delete(oldest);
    }
    return this;
  }

  override delete(key: Key): boolean {
    const value = super.get(key);
    if (value !== undefined) this.total -= this.sizeOf(value);
    return super.delete(key);
  }
}
