import { applyDecorators } from '@nestjs/common';
import { Expose, Transform } from 'class-transformer';

/** Takes a field as it was sent: class-transformer's own copy of a number or structure of exact JSON would be empty. */
export function AsSent(): PropertyDecorator {
  return applyDecorators(
    Expose(),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]),
  );
}
