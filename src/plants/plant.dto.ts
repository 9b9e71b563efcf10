import { ApiProperty, OmitType } from '@nestjs/swagger';
import { ValidateBy, validateSync } from 'class-validator';
import { invalidPlant } from '../errors/api-error.js';
import { JsonNumber, type JsonObject, JsonStructure } from '../http/exact-json.js';
import { describeFound } from '../util/text.js';
import { INT64_MAX, INT64_MIN, isInt64, parseInt64 } from './int64.js';

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

/** The fields that are read from the body. */
export const PLANT_FIELDS = ['id', 'name', 'tag'] as const satisfies readonly (keyof NewPlant)[];

/** A plant in an answer, without its id. */
export class Plant extends OmitType(NewPlant, ['id']) {}

/** Fields that nobody has checked yet. */
type Fields = Partial<Record<keyof NewPlant, unknown>>;

/** The plant of a body. Its id becomes a bigint; the service checks all fields. */
export function newPlantOf(body: JsonObject): NewPlant {
  const { id } = body;
  const plant = id instanceof JsonNumber ? { ...body, id: parseInt64(id.source) ?? id } : body;
  return plant as Partial<NewPlant> as NewPlant;
}

/** Checks a plant, and ignores all that is no field of one. @throws ApiError 40003 that names every wrong field */
export function checkPlant(given: NewPlant): NewPlant {
  // class-transformer would copy deeply, at twice the price.
  const plant: Fields = new NewPlant();
  for (const field of PLANT_FIELDS) plant[field] = (Object(given) as Fields)[field];
  const faults = validateSync(plant).flatMap(({ constraints = {} }) => Object.values(constraints));
  if (faults.length > 0) throw invalidPlant(faults);
  return plant as NewPlant;
}

export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: isInt64,
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
