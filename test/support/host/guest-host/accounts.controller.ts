import { Controller, Get, Req, UseGuards } from '@nestjs/common';
import { AuthGuard } from '@nestjs/passport';
import { ApiBearerAuth } from '@nestjs/swagger';
import { SignedTokenGuard } from './signed-token.guard.js';

/** Routes behind a host's own passport strategy, and behind a guard without passport. */
@ApiBearerAuth()
@Controller('accounts')
export class AccountsController {
  @Get('me')
  @UseGuards(AuthGuard('bearer'))
  me(@Req() { user }: { user?: unknown }): unknown {
    return { user };
  }

  @Get('signed')
  @UseGuards(SignedTokenGuard)
  signed(@Req() { user }: { user?: unknown }): unknown {
    return { user };
  }
}
