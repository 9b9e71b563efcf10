import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { INT64_MAX, INT64_MIN, parseInt64 } from './int64.js';

const int64 = fc.bigInt({ min: INT64_MIN, max: INT64_MAX });

describe(parseInt64.name, () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['0.000', 0n],
    ['0e999999999', 0n],
    ['5', 5n],
    ['5.0', 5n],
    ['5e0', 5n],
    ['50e-1', 5n],
    ['0.05E+2', 5n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', INT64_MAX],
    ['-9223372036854775808', INT64_MIN],
    ['92233720368547758070e-1', INT64_MAX],
    ['1e18', 10n ** 18n],
  ])('should read %s', (source, value) => {
    expect(parseInt64(source)).toBe(value);
  });

  it.each([
    '1.5',
    '5e-1',
    '1e-999999999',
    '9223372036854775808',
    '-9223372036854775809',
    '1e19',
    '1e400',
    '1e999999999',
    '1e99999999999999999999999999',
    'NaN',
    '',
    '0x10',
  ])('should refuse %s', (source) => {
    expect(parseInt64(source)).toBeUndefined();
  });

  it('should read every int64, however it is written', () => {
    fc.assert(
      fc.property(int64, fc.nat(30), fc.nat(30), (value, shift, zeros) => {
        const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(value.toString()) ?? [];
        const padded = digits.padStart(shift + 1, '0');
        const point = padded.length - shift;
        const forms = [
          `${value}`,
          `${value}.${'0'.repeat(zeros + 1)}`,
          `${value}${'0'.repeat(zeros)}e-${zeros}`,
          `${sign}${padded.slice(0, point)}${shift > 0 ? `.${padded.slice(point)}` : ''}e+${shift}`,
        ];
        for (const form of forms) expect(parseInt64(form)).toBe(value);
      }),
    );
  });

  it('should refuse everything outside of int64 and every fraction', () => {
    const outside = fc.oneof(
      fc.bigInt({ min: INT64_MAX + 1n, max: 10n ** 40n }),
      fc.bigInt({ min: -(10n ** 40n), max: INT64_MIN - 1n }),
    );
    fc.assert(fc.property(outside, (value) => parseInt64(value.toString()) === undefined));
    fc.assert(
      fc.property(
        int64,
        fc.integer({ min: 1, max: 9 }),
        (value, digit) => parseInt64(`${value}.0${digit}`) === undefined,
      ),
    );
  });

  it('should take linear time', () => {
    const million = '0'.repeat(1_000_000);
    expect(parseInt64(`1.${million}`)).toBe(1n);
    expect(parseInt64(`1.${million}1`)).toBeUndefined();
    expect(parseInt64(`0.${million}1e1000001`)).toBe(1n);
    expect(parseInt64(`1${million}e-1000000`)).toBe(1n);
  });
});
