import { All, Controller, type DynamicModule, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { methodNotAllowed, unknownPath } from '../../errors/api-error.js';

/** Refuses what nothing else answers: as routes, so that the guard runs before them too. */
@Module({})
export class NotFoundModule {
  /** To be imported last: routes are tried in the order of the modules, and these take every path. @param plantsPath the path that POST alone is offered at */
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
