import { applyDecorators, type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import { Expose, Transform } from 'class-transformer';
import { JsonNumber, type JsonObject, JsonStructure, type JsonValue, toJsonValue } from '../http/exact-json.js';
import { INT64_MAX, INT64_MIN, isInt64, parseInt64 } from './int64.js';
import { ValidateBy, ValidateIf, validateSync, type ValidationArguments } from 'class-validator';
import { ApiProperty, OmitType } from '@nestjs/swagger';
import { InvalidPlantError } from './plants.errors.js';
import type { Sealed } from '../http/sealed-body.js';

/** Takes a field as it was sent: class-transformer's own copy of a number or structure of exact JSON would be empty. */
function AsSent(): PropertyDecorator {
  return applyDecorators(
    Expose(),
    Transform(({ obj, key }: { obj: Record<string, unknown>; key: string }) => obj[key]),
  );
}

/** The int64 that was sent as an id, or else, for the message, what was sent. */
function exactId(sent: unknown): unknown {
  return sent instanceof JsonNumber && sent.isExact ? (parseInt64(sent.source) ?? sent) : sent;
}

/** What a client sent in place of a field, in words. */
function describeValue(value: JsonValue | undefined): string {
  if (value === undefined) return 'is missing';
  if (value instanceof JsonNumber) return value.isExact ? `is the number ${shorten(value.source)}` : 'is a number';
  if (value instanceof JsonStructure) return `is an ${value.kind}`;
  if (typeof value === 'string') return 'is a string';
  return `is ${value}`;
}

function shorten(source: string): string {
  return source.length > 40 ? `${source.slice(0, 40)}…` : source;
}

const ROUNDED =
  "id is a number that this application's own JSON parser may have rounded, so it is refused; " +
  'the application has to call exemptPlantsFromBodyParser(), or be created with `rawBody: true`';

/** Holds for an int64; whatever else is left in the property was no int64 on the wire. */
function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: isInt64,
      defaultMessage: (args) => message(args?.value as JsonValue | undefined),
    },
  });
}

function message(value: JsonValue | undefined): string {
  if (value instanceof JsonNumber && !value.isExact) return ROUNDED;
  return `id ${describeValue(value)}; it must be an integer from ${INT64_MIN} to ${INT64_MAX}`;
}

/** Whether this is a string that PostgreSQL can store. */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Holds for every string that PostgreSQL can store. */
function IsStorableText(): PropertyDecorator {
  return ValidateBy({
    name: 'isStorableText',
    validator: {
      validate: isStorableText,
      defaultMessage: (args) => messageOfIsStorableText(args),
    },
  });
}

function messageOfIsStorableText(args?: ValidationArguments): string {
  const value = args?.value as JsonValue | undefined;
  const fault = typeof value === 'string' ? unstorable(value) : `${describeValue(value)}; it must be a string`;
  return `${args?.property ?? 'the field'} ${fault}`;
}

function unstorable(text: string): string {
  const found = text.isWellFormed() ? 'U+0000' : 'a lone surrogate (half a character)';
  return `contains ${found}, which PostgreSQL cannot store; it must be a string without it`;
}

/** Lets a field be absent. class-validator's own `IsOptional` also lets it be null, which is no string. */
function Optional(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}

/** What PostgreSQL can store: no U+0000, no lone surrogate. Means the same with and without a regex engine's Unicode flag. */
const STORABLE_TEXT = '^(?:[^\\u0000\\uD800-\\uDFFF]|[\\uD800-\\uDBFF][\\uDC00-\\uDFFF])*$';

/** What a client sends: a plant with its id. */
export class NewPlant {
  // No minimum and maximum: as JSON numbers they are ones that most readers round.
  @ApiProperty({
    type: 'integer',
    format: 'int64',
    description: 'Identification number of the plant. Every int64 is taken as it is, never rounded.',
    example: 1,
  })
  @Expose()
  @Transform(({ obj }: { obj: { id?: unknown } }) => exactId(obj.id))
  @IsInt64()
  id!: bigint;

  @ApiProperty({ description: 'The name of the plant', example: 'Rose', pattern: STORABLE_TEXT })
  @AsSent()
  @IsStorableText()
  name!: string;

  @ApiProperty({ description: 'Tag to specify the type', example: 'flower', pattern: STORABLE_TEXT, required: false })
  @AsSent()
  @Optional()
  @IsStorableText()
  tag?: string;
}

/** What a create is answered with. */
export class Plant extends OmitType(NewPlant, ['id']) {}

/**
 * Whether these are the fields of a plant. It judges as the decorators of `NewPlant` do, by the same rules, but looks nothing up
 * and so takes next to no time. What is wrong with others is for them to say.
 */
export function isPlant({ id, name, tag }: Partial<Record<keyof NewPlant, unknown>>): boolean {
  return isInt64(id) && isStorableText(name) && (tag === undefined || isStorableText(tag));
}

/** @throws InvalidPlantError where code of the application gave no plant; JavaScript has no types, so all is checked */
export function assertPlant(given: unknown): asserts given is NewPlant {
  const fields = Object(given) as Record<string, unknown>;
  if (isPlant(fields)) return;
  const faults = plantFaults(fields);
  if (faults.length > 0) throw new InvalidPlantError(faults);
}

/** What keeps these from being the fields of a plant. */
export function plantFaults({ id, name, tag }: Record<string, unknown>): string[] {
  const isNumber = typeof id === 'number';
  const plant = { id: isNumber || isInt64(id) ? 0n : asJson(id), name: asJson(name), tag: asJson(tag) };
  const faults = validateSync(Object.assign(new NewPlant(), plant)).flatMap(({ constraints }) =>
    Object.values(constraints ?? {}),
  );
  if (isNumber) faults.unshift(`id is the number ${id}, which may have been rounded; it must be a bigint, such as 1n`);
  return faults;
}

/** As a client would have sent it: the rules speak of JSON. */
function asJson(value: unknown): JsonValue | undefined {
  return value === undefined ? undefined : toJsonValue(value);
}

/** Turns an exact JSON object into a NewPlant; unknown fields are ignored, and every wrong one is named. */
@Injectable()
export class NewPlantPipe extends ValidationPipe {
  constructor() {
    super({
      // Named here and not by the parameter's type, so that no validation of a host's thinks the parameter its own.
      expectedType: NewPlant,
      transform: true,
      transformOptions: { excludeExtraneousValues: true },
      validateCustomDecorators: true,
      exceptionFactory: (errors) =>
        new InvalidPlantError(errors.flatMap(({ constraints }) => Object.values(constraints ?? {}))),
    });
  }

  override async transform(value: Sealed<JsonObject>, metadata: ArgumentMetadata): Promise<NewPlant> {
    const sent = value.open();
    const { id, name, tag } = sent;
    const fields = { id: exactId(id), name, tag };
    // The decorators, which are slow, have nothing to add to what is right.
    if (isPlant(fields)) return Object.assign(new NewPlant(), fields);
    return super.transform(sent, metadata) as Promise<NewPlant>;
  }
}
