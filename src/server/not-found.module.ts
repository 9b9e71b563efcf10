import { All, Controller, type DynamicModule, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { methodNotAllowed, unknownPath } from '../errors/api-error.js';

/** Refuses all other requests by routes, so that the guard runs before them too. */
@Module({})
export class NotFoundModule {
  /** Import it last, because it matches every path. @param plantsPath the path that offers only POST */
  static forRoot(plantsPath: string): DynamicModule {
    @ApiExcludeController()
    @Controller()
    class NotFoundController {
      @All(plantsPath)
      refuseMethod(): never {
        throw methodNotAllowed();
      }

      @All(['/', '*path'])
      refusePath(): never {
        throw unknownPath();
      }
    }
    return { module: NotFoundModule, controllers: [NotFoundController] };
  }
}
