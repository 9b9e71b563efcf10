/** A parameter of a handler on its way through an application's global pipes, which see every parameter: none can change it. */
export class Sealed<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  open(): T {
    return this.#value;
  }
}
