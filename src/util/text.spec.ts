import { describe, expect, it } from '@jest/globals';
import { escapeControls, escapeControlsInLines, plainName, quote, reasonOf } from './text.js';

describe(reasonOf.name, () => {
  it('should be the message of an error', () => {
    expect(reasonOf(new Error('role "plants" does not exist'))).toBe('role "plants" does not exist');
  });

  it('should name each different reason of several once', () => {
    const refused = new Error('connect ECONNREFUSED ::1:5432');
    const error = new AggregateError([refused, new Error('connect ETIMEDOUT 127.0.0.1:5432'), refused]);
    expect(reasonOf(error)).toBe('connect ECONNREFUSED ::1:5432; connect ETIMEDOUT 127.0.0.1:5432');
  });

  it('should be one line', () => {
    expect(reasonOf(new Error(' no such table\n  in this schema\n'))).toBe('no such table in this schema');
  });

  it('should take what is no error', () => {
    expect(reasonOf('closed')).toBe('closed');
    expect(reasonOf(undefined)).toBe('undefined');
  });
});

describe(plainName.name, () => {
  it.each([
    ['20260101000000_add plants', '20260101000000_add plants'],
    ['Größe', 'Größe'],
    ['a`b`$(id)\n"c\\\u001b', 'a\\u{60}b\\u{60}\\u{24}\\u{28}id\\u{29}\\u{a}\\u{22}c\\u{5c}\\u{1b}'],
  ])('should make %j %s', (name, plain) => {
    expect(plainName(name)).toBe(plain);
  });
});

const CONTROLS: [string, string][] = [
  ['\u001b[31m', '\\u001b[31m'],
  ['\u007f', '\\u007f'],
  ['\u009b31m', '\\u009b31m'],
  ['a\u0085b', 'a\\u0085b'],
  ['\u2028', '\\u2028'],
  ['\u202egnirts', '\\u202egnirts'],
];

describe(escapeControls.name, () => {
  it.each([...CONTROLS, ['a\r\nb\u0000', 'a\\u000d\\u000ab\\u0000']])('should make %j %s', (text, escaped) => {
    expect(escapeControls(text)).toBe(escaped);
  });

  it.each(['', 'plain', 'ä–→🌹', '"\\u001b"', '\u00a0'])('should leave %j', (text) => {
    expect(escapeControls(text)).toBe(text);
  });
});

describe(escapeControlsInLines.name, () => {
  it('should leave the lines that there are', () => {
    expect(escapeControlsInLines('a\u001b\n  b\r\n\n')).toBe('a\\u001b\n  b\\u000d\n\n');
  });
});

describe(quote.name, () => {
  it.each([...CONTROLS, ['a\n\t"', 'a\\n\\t\\"']])('should show %j as "%s"', (value, escaped) => {
    expect(quote(value)).toBe(`"${escaped}"`);
    expect(JSON.parse(quote(value))).toBe(value);
  });

  it('should shorten what is long', () => {
    expect(quote('x'.repeat(61))).toBe(`"${'x'.repeat(59)}…"`);
  });
});
