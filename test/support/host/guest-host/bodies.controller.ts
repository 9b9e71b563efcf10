import { Body, Controller, HttpCode, Post, type RawBodyRequest, Req } from '@nestjs/common';

/** Says what the host's parsers made of a body. */
@Controller('bodies')
export class BodiesController {
  @Post()
  @HttpCode(200)
  describe(@Body() body: unknown, @Req() request: RawBodyRequest<object>): unknown {
    const { rawBody } = request;
    return {
      type: body instanceof Buffer ? 'Buffer' : typeof body,
      body: body instanceof Buffer ? body.toString('latin1') : body,
      rawBody: rawBody?.toString('latin1'),
    };
  }
}
