import { All, Controller, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { UnknownPathError } from '../http.errors.js';

/** Every path that nothing else answers: as a route, so that the guard runs before it too. */
@ApiExcludeController()
@Controller()
class UnknownPathController {
  @All(['/', '*path'])
  refuse(): never {
    throw new UnknownPathError();
  }
}

/** To be imported last: routes are tried in the order of the modules, and this one takes every path. */
@Module({ controllers: [UnknownPathController] })
export class UnknownPathModule {}
