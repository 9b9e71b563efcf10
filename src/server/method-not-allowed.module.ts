import { All, Controller, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { methodNotAllowed } from '../errors/api-error.js';

@ApiExcludeController()
@Controller('plants')
class MethodNotAllowedController {
  @All()
  refuse(): never {
    throw methodNotAllowed();
  }
}

/** Refuses other methods on `/plants`, behind the guard. It comes behind `PlantsModule`, as routes have an order. */
@Module({ controllers: [MethodNotAllowedController] })
export class MethodNotAllowedModule {}
