import { describe, expect, it } from '@jest/globals';
import { escapeControls, escapeControlsInLines, quote } from './text.js';

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
