import { applyDecorators } from '@nestjs/common';
import { TextList } from './text-list.decorator.js';

/** How many proxies there are in front, or which. */
export function TrustedProxies(): PropertyDecorator {
  return applyDecorators(TextList());
}
