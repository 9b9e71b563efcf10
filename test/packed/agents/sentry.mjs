import * as Sentry from '@sentry/nestjs';
import { printAtExit } from './spans.mjs';

const items = [];
const transport = {
  send: async ([, sent]) => {
    items.push(...sent);
    return {};
  },
  flush: async () => true,
};
Sentry.init({ dsn: 'https://key@127.0.0.1:9/1', tracesSampleRate: 1, transport: () => transport });

printAtExit(() =>
  items
    .filter(([{ type }]) => type === 'transaction')
    .flatMap(([, { transaction, contexts, spans }]) => [
      { span_id: contexts.trace.span_id, resource: transaction },
      ...spans.map(({ span_id, parent_span_id, description }) => {
        return { span_id, parent_id: parent_span_id, resource: description };
      }),
    ]),
);
