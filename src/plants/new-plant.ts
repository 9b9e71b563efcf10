import { ApiProperty } from '@nestjs/swagger';
import { Expose, Transform } from 'class-transformer';
import { AsSent } from './dto/as-sent.decorator.js';
import { exactId } from './dto/exact-id.js';
import { IsInt64 } from './dto/is-int64.decorator.js';
import { IsStorableText } from './dto/is-storable-text.decorator.js';
import { Optional } from './dto/optional.decorator.js';

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
