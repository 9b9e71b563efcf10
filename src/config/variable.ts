import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Rule } from '../util/options.js';
import { quote } from '../util/text.js';

/** Makes the value of a text. A text that it cannot read stays as it is, and is refused by what the value should be. */
type Parse = (text: string) => unknown;
/** Number() also accepts "1e3", "0x10" and "", and rounds beyond 15 digits. */
export const number: Parse = (text) => (/^\d{1,15}$/.test(text) ? Number(text) : text);
export const word: Parse = (text) => text.toLowerCase();
export const onOff: Parse = (text) => (/^on$/i.test(text) ? true : /^off$/i.test(text) ? false : text);
export const list: Parse = (text) => text.split(/[\s,]+/).filter(Boolean);
export const commaList: Parse = (text) => text.split(/\s*,\s*/).filter(Boolean);

type Check = readonly [what: string, holds: (value: unknown) => boolean];

export function matching(what: string, test: (text: string) => boolean): Check {
  return [what, (value) => test(String(value))];
}

/** The explanation of each variable. .env.example, docs/configuration.md and the help of `serve` come from them. */
export const VARIABLES = new Map<string, string>();

/** Declares a variable: what it is for, what its value should be, and how it is read. */
export function Variable(about: string, [what, holds]: Check, parse: Parse = String) {
  // The message shows a wrong text as it was written.
  const read: Parse = (text) => {
    const value = parse(text);
    return holds(value) ? value : text;
  };
  return VariableWith(about, (value) => (holds(value) ? undefined : `${shown(value)}, should be ${what}`), read);
}

/** The same, with a check that words its faults. */
export function VariableWith(
  about: string,
  findFault: (value: never) => string | undefined,
  parse: Parse,
): PropertyDecorator {
  const read = Transform(({ value }) => parse(value as string), { toClassOnly: true });
  return (target, name) => {
    VARIABLES.set(String(name), about);
    applyDecorators(
      read,
      Rule((value) => (value === undefined ? undefined : findFault(value as never))),
    )(target, name);
  };
}

/** A URL with an @ may hold a password, so it is not shown. */
function shown(value: unknown): string {
  return String(value).includes('@') ? 'holds a user or password' : `is ${quote(value)}`;
}
