import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ERROR_CATALOGUE } from '../errors/error-catalogue.js';
import type { ErrorStatus } from '../errors/error-status.js';

export interface OpenApiOptions {
  /** Path before `/plants`; it stands in the document's server, not in its paths. */
  basePath: string;
  errorStatus: ErrorStatus;
}

/** The OpenAPI document, generated from the decorators of the code. */
export function createOpenApiDocument(app: INestApplication, { basePath, errorStatus }: OpenApiOptions): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Plant Store')
    .setDescription(description(errorStatus))
    .setVersion('1.0.0')
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addServer(basePath || '/', 'This store')
    .addTag('Plants', 'What the store holds. Creation is the only operation.')
    .addSecurity('bearerAuth', {
      type: 'http',
      scheme: 'bearer',
      description:
        'The access token, sent with every request as `Authorization: Bearer <ACCESS_TOKEN>`. To create plants it needs the scope `plants:create`.',
    })
    .addSecurityRequirements('bearerAuth')
    .build();
  // Nobody is named as a contact, and Nest would leave an empty one.
  delete config.info.contact;
  const { paths, components = {}, ...rest } = SwaggerModule.createDocument(app, config);
  return {
    ...rest,
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path.slice(basePath.length), item])),
    components,
  };
}

function description(errorStatus: ErrorStatus): string {
  const status =
    errorStatus === 'contract'
      ? 'Every failure is answered with status 400'
      : 'Every failure is answered with the status that its error number begins with';
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([error, { meaning, retry }]) => `| ${error} | ${meaning} | ${retry} |`,
  );
  return [
    'A store of plants with one operation: the creation of a plant.',
    `${status} and an Error body, whose \`error\` is one of these numbers:`,
    ['| error | meaning | safe to send again unchanged? |', '|---|---|---|', ...rows].join('\n'),
  ].join('\n\n');
}
