import { describe, expect, it } from '@jest/globals';
import { escapeControls, plainName, quote, reasonOf } from './text.js';

describe(reasonOf.name, () => {
  const refused = new Error('connect ECONNREFUSED ::1:5432');
  const timedOut = new Error('connect ETIMEDOUT 127.0.0.1:5432');

  it.each<[unknown, string]>([
    [new Error(' no such table\n  in this schema\n'), 'no such table in this schema'],
    [new AggregateError([refused, timedOut, refused]), `${refused.message}; ${timedOut.message}`],
    ['closed', 'closed'],
    [undefined, 'undefined'],
  ])('should be one line, of %j %s', (error, reason) => {
    expect(reasonOf(error)).toBe(reason);
  });
});

describe(escapeControls.name, () => {
  it.each([
    ['\u001b[31m\u007f\u009b31m', '\\u001b[31m\\u007f\\u009b31m'],
    ['a\r\nb\u0000\u0085', 'a\\u000d\\u000ab\\u0000\\u0085'],
    ['\u2028\u202egnirts', '\\u2028\\u202egnirts'],
    ['ä–→🌹"\\u001b"\u00a0', 'ä–→🌹"\\u001b"\u00a0'],
  ])('should make %j %s', (text, escaped) => {
    expect(escapeControls(text)).toBe(escaped);
    expect(JSON.parse(quote(text))).toBe(text);
  });
});

describe(quote.name, () => {
  it('should shorten what is long', () => {
    expect(quote('x'.repeat(61))).toBe(`"${'x'.repeat(59)}…"`);
  });
});

describe(plainName.name, () => {
  it('should leave nothing that a shell could take for more', () => {
    expect(plainName('Größe_1 a`b`$(id)\n"c\\\u001b')).toBe(
      'Größe_1 a\\u{60}b\\u{60}\\u{24}\\u{28}id\\u{29}\\u{a}\\u{22}c\\u{5c}\\u{1b}',
    );
  });
});
