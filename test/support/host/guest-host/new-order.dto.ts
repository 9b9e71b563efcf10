import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, MaxLength, Min, ValidateNested } from 'class-validator';

class Address {
  @ApiProperty()
  @IsString()
  city!: string;
}

export class NewOrder {
  @ApiProperty({ minimum: 1 })
  @IsInt()
  @Min(1)
  id!: number;

  @ApiProperty({ maxLength: 20 })
  @IsString()
  @MaxLength(20)
  item!: string;

  @ApiProperty({ required: false })
  @IsOptional()
  @ValidateNested()
  @Type(() => Address)
  address?: Address;
}
