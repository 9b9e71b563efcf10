import { Injectable, type PipeTransform } from '@nestjs/common';

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

/** The last pipe of such a parameter. */
@Injectable()
export class OpenPipe<T> implements PipeTransform<Sealed<T>, T> {
  transform(value: Sealed<T>): T {
    return value.open();
  }
}
