import { IsNotEmpty, IsString } from 'class-validator';

export class Species {
  @IsString()
  @IsNotEmpty()
  name!: string;

  @IsString()
  @IsNotEmpty()
  family!: string;
}
