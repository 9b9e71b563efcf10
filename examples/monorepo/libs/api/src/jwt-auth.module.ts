import { Module } from '@nestjs/common';
import { JwtModule } from '@nestjs/jwt';
import { JwtAuthGuard } from './jwt-auth.guard.js';
import { requiredVariable } from './required-variable.js';

@Module({
  imports: [JwtModule.registerAsync({ useFactory: () => ({ secret: requiredVariable('JWT_SECRET') }) })],
  providers: [JwtAuthGuard],
  exports: [JwtAuthGuard, JwtModule],
})
export class JwtAuthModule {}
