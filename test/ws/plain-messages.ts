import type { EngineEvent } from '../../src/engine/event.js';
import { TopicIndex } from '../../src/feed/topic-index.js';
import { PlainPublisher, type PushForm } from '../../src/ws/publisher.js';

const CHAIN_ID = '1';

/** What the subscribers of everything get of an event on the plain protocol. */
export function plainMessagesOf(event: EngineEvent, form: PushForm): string[] {
  const published: string[] = [];
  const topics = new TopicIndex(CHAIN_ID);
  for (const channel of ['quotes', 'rfq']) topics.join(`${channel}:${CHAIN_ID}:*:*:*`, { provider: null, minSize: 0n });
  const publisher = new PlainPublisher(topics, form, (_, message) => {
    published.push(Buffer.from(message).toString());
  });
  publisher.onEvents([event]);
  return published;
}
