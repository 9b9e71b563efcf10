import { Controller, Get, VERSION_NEUTRAL, Version } from '@nestjs/common';

@Controller({ path: 'greetings', version: ['1', '2'] })
export class GreetingsController {
  @Get()
  greet(): string {
    return 'Hello';
  }

  @Get()
  @Version('3')
  greetWarmly(): object {
    return { greeting: 'Hello!' };
  }

  @Get('neutral')
  @Version(VERSION_NEUTRAL)
  nod(): undefined {
    return undefined;
  }
}
