import { ApiProperty } from '@nestjs/swagger';
import { IsInt, IsNotEmpty, IsString, Min } from 'class-validator';

export class NewOrder {
  @ApiProperty()
  @IsString()
  @IsNotEmpty()
  plant!: string;

  @ApiProperty({ type: 'integer', minimum: 1 })
  @IsInt()
  @Min(1)
  quantity!: number;
}

export class Order extends NewOrder {
  @ApiProperty({ type: 'integer' })
  number!: number;
}
