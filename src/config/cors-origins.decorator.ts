import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';

import { Check } from './check.decorator.js';
import { quote } from '../errors/quote.js';
import { splitList } from './text-list.decorator.js';

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*]+$/i;

// Browsers send an origin in lower case and without the port that goes without saying; a list written otherwise would never match.
function normalise(text: string): string {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return text;
  const { origin } = new URL(text);
  return origin === 'null' ? text.toLowerCase() : origin;
}

function originFault(origin: string): string | undefined {
  if (origin === '*') return 'is "*", which is not offered: should be a list of the origins that may call';
  if (ORIGIN.test(origin) && URL.canParse(origin)) return undefined;
  return `holds ${quote(origin)}, should be origins like https://app.example.com or http://localhost:5173, without a path, separated by commas`;
}

/** Origins of web pages, separated by commas. */
export function CorsOrigins(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => splitList(value as string).map(normalise)),
    Check('corsOrigins', (value) => {
      const faults = (value as string[]).map(originFault).filter((fault) => fault !== undefined);
      return faults.length > 0 ? faults.join('; ') : undefined;
    }),
  );
}
