import { All, Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { UnknownPathError } from '../../errors/unknown-path.error.js';

/** Every path that nothing else answers: as a route, so that the guard stands before it too. */
@ApiExcludeController()
@Controller()
export class UnknownPathController {
  @All(['/', '*path'])
  refuse(): never {
    throw new UnknownPathError();
  }
}
