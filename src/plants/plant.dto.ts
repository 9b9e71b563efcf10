import { applyDecorators } from '@nestjs/common';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { Expose, plainToInstance } from 'class-transformer';
import { ValidateBy, validateSync } from 'class-validator';
import { invalidPlant } from '../errors/api-error.js';
import { JsonNumber, type JsonObject, JsonStructure } from '../http/exact-json.js';
import { describeFound } from '../util/options.js';
import { INT64_MAX, INT64_MIN, isInt64, parseInt64 } from './int64.js';

/** What a field may hold: its schema, the test of a value, and the words for a wrong one. */
interface FieldType<T> {
  readonly schema: { type: 'integer'; format: 'int64' } | { type: typeof String; pattern: string };
  readonly isRight: (value: unknown) => value is T;
  readonly faultOf: (value: unknown) => string;
}

// No minimum and maximum: as JSON numbers, most readers would round them.
const INT64: FieldType<bigint> = {
  schema: { type: 'integer', format: 'int64' },
  isRight: isInt64,
  faultOf: int64Fault,
};
/** Text that PostgreSQL can store. The pattern leaves surrogates out: not every regular expression engine knows them. */
const TEXT: FieldType<string> = {
  schema: { type: String, pattern: '^[^\\x00]*$' },
  isRight: isStorableText,
  faultOf: textFault,
};

/** The fields of `NewPlant` in their order, with their tests: all that a good plant needs. */
const FIELD_TESTS: { readonly name: keyof NewPlant; readonly isRight: (value: unknown) => boolean }[] = [];

/** Declares a field once: for the document, for the test of a good plant, and for the words of class-validator. */
function PlantField<T>(
  { schema, isRight, faultOf }: FieldType<T>,
  { required = true, ...about }: { description: string; example: unknown; required?: boolean },
) {
  const validate = required ? isRight : (value: unknown): boolean => value === undefined || isRight(value);
  const hint = (value: unknown): string => (value === null && !required ? ', or leave it out' : '');
  return <Name extends keyof NewPlant>(plant: Partial<Record<Name, T>>, name: Name): void => {
    FIELD_TESTS.push({ name, isRight: validate });
    const defaultMessage = (args?: { value: unknown }): string => `${name} ${faultOf(args?.value)}${hint(args?.value)}`;
    applyDecorators(
      ApiProperty({ ...schema, ...about, required }),
      Expose(),
      ValidateBy({ name: 'isPlantField', validator: { validate, defaultMessage } }),
    )(plant, name);
  };
}

/** A plant to create. It is also the schema of OpenAPI. */
export class NewPlant {
  /** Any int64: a `bigint` from -(2n ** 63n) to 2n ** 63n - 1n. */
  @PlantField(INT64, {
    description: 'Identification number of the plant. Every int64 is accepted as it is, never rounded.',
    example: 1,
  })
  id!: bigint;

  /** Any text without U+0000 and lone surrogates. */
  @PlantField(TEXT, {
    description: 'The name of the plant. Any Unicode text without U+0000 and lone surrogates (halves of a character).',
    example: 'Rose',
  })
  name!: string;

  /** The type of the plant, as any text like `name`. @defaultValue none */
  @PlantField(TEXT, {
    description: 'Tag to specify the type. Any text that a name may be.',
    example: 'flower',
    required: false,
  })
  tag?: string;
}

/** The fields that are read from the body. */
export const PLANT_FIELDS: readonly (keyof NewPlant)[] = FIELD_TESTS.map(({ name }) => name);

/** A plant in an answer, without its id. */
export class Plant extends OmitType(NewPlant, ['id']) {}

/** Fields that nobody has checked yet. */
type Fields = Partial<Record<keyof NewPlant, unknown>>;

/** Reads a plant from a body and ignores all other fields. @throws ApiError 40003 that names every wrong field */
export function parseNewPlant(body: JsonObject): NewPlant {
  const { id } = body;
  return checkPlant(id instanceof JsonNumber ? { ...body, id: parseInt64(id.source) ?? id } : body);
}

/**
 * Checks a plant. An absent field stays absent. A good plant passes the plain tests alone; class-validator words the
 * faults of any other.
 * @throws ApiError 40003 that names every wrong field
 */
export function checkPlant(given: unknown): NewPlant {
  const plant: Fields = {};
  let isRight = true;
  for (const { name, isRight: test } of FIELD_TESTS) {
    // It is read once, because a getter of code may give another value the next time.
    const value = read(Object(given) as Fields, name);
    if (value !== undefined) plant[name] = value;
    isRight &&= test(value);
  }
  if (!isRight) throw invalidPlant(faultsOf(plant));
  return plant as NewPlant;
}

export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

const MAX_SHOWN_DIGITS = 40;

/** The words for a value that is no primitive. class-transformer would copy the value, without an end if it is a cycle. */
class FoundWords {
  constructor(readonly words: string) {}
}

const UNREADABLE = new FoundWords('cannot be read');

/** A field of an object from code: a getter or a Proxy may throw. */
function read(given: Fields, name: keyof NewPlant): unknown {
  try {
    return given[name];
  } catch {
    return UNREADABLE;
  }
}

/** What class-validator says about the fields, in their order. */
function faultsOf(fields: Fields): string[] {
  const found = PLANT_FIELDS.map((name) => [name, toFoundWords(fields[name])]);
  const errors = validateSync(plainToInstance(NewPlant, Object.fromEntries(found)));
  return errors.flatMap(({ constraints = {} }) => Object.values(constraints));
}

function toFoundWords(value: unknown): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return value;
  try {
    if (value instanceof FoundWords) return value;
    if (value instanceof JsonNumber) return new FoundWords(`is the number ${value.source.slice(0, MAX_SHOWN_DIGITS)}`);
    return new FoundWords(value instanceof JsonStructure ? `is an ${value.kind}` : describeFound(value));
  } catch {
    return UNREADABLE;
  }
}

function int64Fault(value: unknown): string {
  if (typeof value === 'number')
    return `is the number ${value}, which may have been rounded; it must be a bigint, such as 1n`;
  return `${wordsFor(value)}; it must be an integer from ${INT64_MIN} to ${INT64_MAX}`;
}

function textFault(value: unknown): string {
  if (typeof value !== 'string') return `${wordsFor(value)}; it must be a string`;
  const found = value.isWellFormed() ? 'U+0000' : 'a lone surrogate (half a character)';
  return `contains ${found}, which PostgreSQL cannot store; it must be a string without it`;
}

function wordsFor(value: unknown): string {
  return value instanceof FoundWords ? value.words : describeFound(value);
}
