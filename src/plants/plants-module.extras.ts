import type { CanActivate, ControllerOptions, ModuleMetadata, Type } from '@nestjs/common';

/** What has to be known before the application starts, in `forRootAsync` too. */
export interface PlantsModuleExtras {
  /** Path of the route, below the application's global prefix, such as `garden/plants`; `plants` unless given. */
  path?: string;
  /**
   * Version of the route, or several, where the application has versioning enabled; its default version unless given. Give
   * it where the default is several: for each, Nest then makes an `operationId` of its own.
   */
  version?: ControllerOptions['version'];
  /** Guards of the route, besides the application's global ones; none unless given. */
  guards?: Type<CanActivate>[];
  /** Modules that export what these guards need, such as `AuthModule.forRoot({ accessTokens })`; none unless given. */
  imports?: NonNullable<ModuleMetadata['imports']>;
  /**
   * How the store stands in the OpenAPI documents that the application makes of itself; with its own names, behind `bearer`,
   * unless given.
   */
  openApi?: PlantsOpenApiOptions;
}

/** What the store is called in the application's OpenAPI documents, and which credential it names there. */
export interface PlantsOpenApiOptions {
  /**
   * What the store's names begin with; nothing unless given. With `Store` the schemas are `StoreNewPlant`, `StorePlant` and
   * `StoreError`, the tag is `StorePlants` and the operation `createStorePlant`.
   *
   * Without one, of the store's `Plant` and another schema of this name the one that Nest finds last stands for both, and all
   * that Nest does is to log "Duplicate DTO detected"; and two stores in one document have one `operationId`, which OpenAPI forbids.
   */
  namePrefix?: string;
  /**
   * The document's security scheme that the operation requires; `bearer` unless given, which is what
   * `DocumentBuilder.addBearerAuth()` defines. With `false` the operation names none, and what the document requires holds.
   */
  securityScheme?: string | false;
}
