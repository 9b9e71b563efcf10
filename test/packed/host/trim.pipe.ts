import type { PipeTransform } from '@nestjs/common';

/** What a host may do to all parameters of its routes. */
export class TrimPipe implements PipeTransform {
  transform(value: unknown): unknown {
    if (typeof value === 'string') return value.trim();
    if (typeof value === 'object' && value !== null) {
      for (const [key, member] of Object.entries(value)) Reflect.set(value, key, this.transform(member));
    }
    return value;
  }
}
