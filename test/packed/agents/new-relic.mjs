import newrelic from 'newrelic';
import { printAtExit } from './spans.mjs';

// What the agent would send, had it reached its server.
printAtExit(() => {
  const events = newrelic.agent.spanEventAggregator.getEvents();
  return events.map(({ intrinsics: { guid, parentId, name } }) => ({
    span_id: guid,
    parent_id: parentId,
    resource: name,
  }));
});
