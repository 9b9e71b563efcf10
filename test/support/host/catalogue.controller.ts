import { Body, Controller, Get, Post } from '@nestjs/common';
import { ApiBadRequestResponse, ApiBearerAuth, ApiOkResponse, ApiProperty, ApiSchema } from '@nestjs/swagger';

class Plant {
  @ApiProperty()
  species!: string;
}

@ApiSchema({ name: 'Error' })
class HostError {
  @ApiProperty({ type: [String] })
  reasons!: string[];
}

/** A route of a host's own, with schemas of the names that the store's have. */
@ApiBearerAuth()
@Controller('catalogue')
export class CatalogueController {
  @Get()
  @ApiOkResponse({ type: [Plant] })
  @ApiBadRequestResponse({ type: HostError })
  find(): Plant[] {
    return [];
  }

  @Post()
  @ApiBadRequestResponse({ type: HostError })
  create(@Body() plant: Plant): Plant {
    return plant;
  }
}
