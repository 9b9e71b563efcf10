import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ValidateBy, validateSync } from 'class-validator';
import { invalidPlant } from '../errors/api-error.js';
import { JsonNumber, type JsonObject, JsonStructure } from '../http/exact-json.js';
import { describeFound } from '../util/text.js';

/** A plant to create. It is also the schema of OpenAPI. */
export class NewPlant {
  /** Any int64: a `bigint` from -(2n ** 63n) to 2n ** 63n - 1n. */
  @ApiProperty({
    // No minimum and maximum: as JSON numbers, most readers would round them.
    type: 'integer',
    format: 'int64',
    description: 'Identification number of the plant. Every int64 is accepted as it is, never rounded.',
    example: 1,
  })
  @IsInt64()
  id!: bigint;

  /** Any text without U+0000 and lone surrogates. */
  @ApiProperty({
    // It leaves surrogates out: not every regular expression engine knows them.
    pattern: '^[^\\x00]*$',
    description: 'The name of the plant. Any Unicode text without U+0000 and lone surrogates (halves of a character).',
    example: 'Rose',
  })
  @IsStorableText()
  name!: string;

  /** The type of the plant, as any text like `name`. @defaultValue none */
  @ApiProperty({
    required: false,
    pattern: '^[^\\x00]*$',
    description: 'Tag to specify the type. Any text that a name may be.',
    example: 'flower',
  })
  @IsStorableText({ isOptional: true })
  tag?: string;
}

export const PLANT_FIELDS = Object.keys(new NewPlant()) as (keyof NewPlant)[];

/** A plant in an answer, without its id. */
export class Plant extends OmitType(NewPlant, ['id']) {}

/** The plant of a body, which nobody has checked yet. Its id becomes a bigint. */
export function newPlantOf({ id, ...texts }: JsonObject): NewPlant {
  return Object.assign(new NewPlant(), texts, { id: id instanceof JsonNumber ? (parseInteger(id.source) ?? id) : id });
}

/** Checks a plant, and ignores all that is no field of one. @throws ApiError 40003 that names every wrong field */
export function checkPlant(given: NewPlant): NewPlant {
  // class-transformer would copy deeply, at twice the price.
  const { id, name, tag } = Object(given) as NewPlant;
  const plant: NewPlant = Object.assign(new NewPlant(), { id, name, tag } satisfies Record<keyof NewPlant, unknown>);
  const faults = validateSync(plant).flatMap(({ constraints = {} }) => Object.values(constraints));
  if (faults.length > 0) throw invalidPlant(faults);
  // A host that asks for `'tag' in plant` gets the answer of HTTP.
  for (const field of PLANT_FIELDS) if (plant[field] === undefined) Reflect.deleteProperty(plant, field);
  return plant;
}

const INTEGER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
/** Those of the largest int64. */
const MAX_DIGITS = 19;

/** The integer of a JSON number; undefined if it is none, or too long. `5`, `5.0` and `50e-1` are the same integer. */
function parseInteger(source: string): bigint | undefined {
  if (/^-?\d{1,19}$/.test(source)) return BigInt(source);
  const match = INTEGER.exec(source);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // A loop, because the pattern /0+$/ takes quadratic time on a long run of zeros in the middle.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;

  // The size is checked before the zeros are added, so 1e999999999 costs nothing. An exponent that Number() rounds is
  // out of range anyway.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end + zeros > MAX_DIGITS) return undefined;
  return BigInt(`${sign}${digits.slice(0, end)}${'0'.repeat(zeros)}`);
}

export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

const [INT64_MIN, INT64_MAX] = [-(2n ** 63n), 2n ** 63n - 1n];

function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: (value) => typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX,
      defaultMessage: (args) => {
        if (typeof args?.value === 'number')
          return `$property is the number ${args.value}, which may have been rounded; it must be a bigint, such as 1n`;
        return `$property ${wordsFor(args?.value)}; it must be an integer from ${INT64_MIN} to ${INT64_MAX}`;
      },
    },
  });
}

/** Text that PostgreSQL can store. `IsOptional` of class-validator would let a null pass too. */
function IsStorableText({ isOptional = false } = {}): PropertyDecorator {
  return ValidateBy({
    name: 'isStorableText',
    validator: {
      validate: (value) => (isOptional && value === undefined) || isStorableText(value),
      defaultMessage: (args) => {
        const value: unknown = args?.value;
        const hint = isOptional && value === null ? ', or leave it out' : '';
        if (typeof value !== 'string') return `$property ${wordsFor(value)}; it must be a string${hint}`;
        const found = value.isWellFormed() ? 'U+0000' : 'a lone surrogate (half a character)';
        return `$property contains ${found}, which PostgreSQL cannot store; it must be a string without it`;
      },
    },
  });
}

const MAX_SHOWN_DIGITS = 40;

/** The words for a value of a body, or of code. */
function wordsFor(value: unknown): string {
  if (value instanceof JsonNumber) return `is the number ${value.source.slice(0, MAX_SHOWN_DIGITS)}`;
  if (value instanceof JsonStructure) return `is an ${value.kind}`;
  return describeFound(value);
}
