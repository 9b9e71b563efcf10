import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** What every failure is answered with. */
@ApiSchema({ name: 'Error' })
export class ErrorBody {
  @ApiProperty({
    type: 'integer',
    format: 'int32',
    description: 'Error number. Its first three digits are the status that plain HTTP would have used.',
  })
  error!: number;

  @ApiProperty({ description: 'Error message text: what was wrong, where, and what would be right' })
  message!: string;
}
