import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { Expose } from 'class-transformer';
import { ValidateBy, type ValidationArguments } from 'class-validator';
import { invalidIdempotencyKey, invalidPlant } from '../errors/api-error.js';
import { JsonNumber, type JsonObject, JsonStructure } from '../http/exact-json.js';
import { headerValues, nodeRequest, type PlatformRequest } from '../http/platform.js';
import { describeFound } from '../util/options.js';

/** The text that PostgreSQL can store: no U+0000, no lone surrogate. With or without the Unicode flag it is the same. */
const STORABLE_TEXT = '^(?:[^\\u0000\\uD800-\\uDFFF]|[\\uD800-\\uDBFF][\\uDC00-\\uDFFF])*$';

/** Validates a field. class-validator and class-transformer use it when a host validates a `NewPlant` of its own. */
function PlantField(isRight: (value: unknown) => boolean, faultOf: (value: unknown) => string): PropertyDecorator {
  const defaultMessage = (args?: ValidationArguments): string => `${args?.property ?? ''} ${faultOf(args?.value)}`;
  return applyDecorators(
    Expose(),
    ValidateBy({ name: 'isPlantField', validator: { validate: isRight, defaultMessage } }),
  );
}

/** A plant to create. It is also the schema of OpenAPI. */
export class NewPlant {
  // No minimum and maximum here: as JSON numbers, most readers would round them.
  /** Any int64: a `bigint` from -(2n ** 63n) to 2n ** 63n - 1n. */
  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'Identification number of the plant. Every int64 is accepted as it is, never rounded.',
    example: 1,
  })
  @PlantField(isInt64, idFault)
  id!: bigint;

  /** Any text without U+0000 and lone surrogates. */
  @ApiProperty({ type: String, description: 'The name of the plant', example: 'Rose', pattern: STORABLE_TEXT })
  @PlantField(isStorableText, textFault)
  name!: string;

  /** The type of the plant, as any text like `name`. @defaultValue none */
  @ApiPropertyOptional({
    type: String,
    description: 'Tag to specify the type',
    example: 'flower',
    pattern: STORABLE_TEXT,
  })
  @PlantField(isTag, textFault)
  tag?: string;
}

/** The fields that are read from the body. */
export const PLANT_FIELDS: readonly (keyof NewPlant)[] = ['id', 'name', 'tag'];

/** A plant in an answer, without its id. */
export class Plant extends OmitType(NewPlant, ['id']) {}

/** Fields that nobody has checked yet. */
type Fields = Partial<Record<keyof NewPlant, unknown>>;

/** A plant with checked fields. So a plant from HTTP is not checked again by the service. */
export class ValidPlant implements NewPlant {
  readonly id: bigint;
  readonly name: string;
  declare readonly tag?: string;

  /** @throws ApiError 40003 that names every wrong field */
  constructor(id: unknown, name: unknown, tag: unknown) {
    if (!isInt64(id) || !isStorableText(name) || !isTag(tag)) throw invalidPlant(plantFaults({ id, name, tag }));
    this.id = id;
    this.name = name;
    if (tag !== undefined) this.tag = tag;
  }

  /** Checks a plant from code, where JavaScript allows any value. @throws ApiError 40003 if it is no plant */
  static from(given: unknown): ValidPlant {
    if (given instanceof ValidPlant) return given;
    const { id, name, tag } = Object(given) as Fields;
    return new ValidPlant(id, name, tag);
  }
}

/** Reads a plant from a body and ignores unknown fields. @throws ApiError 40003 that names every wrong field */
export function parseNewPlant({ id, name, tag }: JsonObject): ValidPlant {
  const exact = id instanceof JsonNumber ? parseInt64(id.source) : undefined;
  return new ValidPlant(exact ?? id, name, tag);
}

const MAX_KEY_LENGTH = 255;

/** The `Idempotency-Key` of a request, if it has one. @throws ApiError 40004 */
export function idempotencyKey(request: PlatformRequest): string | undefined {
  const [key, ...others] = headerValues(nodeRequest(request), 'idempotency-key');
  if (others.length > 0) throw invalidIdempotencyKey('is repeated');
  if (key !== undefined) assertIdempotencyKey(key);
  return key;
}

/** @throws ApiError 40004 if the key cannot be stored with a plant */
export function assertIdempotencyKey(key: string): void {
  if (key === '') throw invalidIdempotencyKey('is empty');
  if (key.length > MAX_KEY_LENGTH) throw invalidIdempotencyKey(`has ${key.length} characters`);
  if (!isStorableText(key))
    throw invalidIdempotencyKey('contains U+0000 or half a character, which PostgreSQL cannot store');
}

export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

const MAX_DIGITS = 19;
const MAX_SHOWN_DIGITS = 40;
/** Most ids. Such a number is certainly within the range. */
const PLAIN = /^-?\d{1,18}$/;
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function isInt64(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= INT64_MIN && value <= INT64_MAX;
}

/** The int64 of a JSON number; undefined if it is not one. `5`, `5.0` and `50e-1` are the same integer. */
export function parseInt64(source: string): bigint | undefined {
  if (PLAIN.test(source)) return BigInt(source);
  const match = NUMBER.exec(source);
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
  const value = BigInt(`${sign}${digits.slice(0, end)}${'0'.repeat(zeros)}`);
  return isInt64(value) ? value : undefined;
}

export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

function isTag(value: unknown): value is string | undefined {
  return value === undefined || isStorableText(value);
}

function plantFaults({ id, name, tag }: Fields): string[] {
  const faults: string[] = [];
  if (!isInt64(id)) faults.push(`id ${idFault(id)}`);
  if (!isStorableText(name)) faults.push(`name ${textFault(name)}`);
  if (!isTag(tag)) faults.push(`tag ${textFault(tag)}`);
  return faults;
}

function idFault(value: unknown): string {
  if (typeof value === 'number')
    return `is the number ${value}, which may have been rounded; it must be a bigint, such as 1n`;
  return `${describeValue(value)}; it must be an integer from ${INT64_MIN} to ${INT64_MAX}`;
}

function textFault(value: unknown): string {
  if (typeof value !== 'string') return `${describeValue(value)}; it must be a string`;
  const found = value.isWellFormed() ? 'U+0000' : 'a lone surrogate (half a character)';
  return `contains ${found}, which PostgreSQL cannot store; it must be a string without it`;
}

function describeValue(value: unknown): string {
  if (value instanceof JsonNumber) return `is the number ${value.source.slice(0, MAX_SHOWN_DIGITS)}`;
  if (value instanceof JsonStructure) return `is an ${value.kind}`;
  return describeFound(value);
}
