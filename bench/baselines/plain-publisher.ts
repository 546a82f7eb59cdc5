import type { Answers } from '../processes/answer-questions.js';
import { nowMicros, onSchedule, type PublishDialogue } from '../servers/publish-schedule.js';
import { publishedMessage, publishedQuotes, subscriptionKinds } from '../workload/published-quotes.js';

interface Ready {
  readonly message: Buffer;
  readonly topics: readonly string[];
}

/** Publishes ready-made messages on schedule; `publish` is all that a server does about them. */
export function plainPublisher(publish: (topic: string, message: Buffer) => void): Answers<PublishDialogue> {
  let ready: readonly Ready[] = [];
  return {
    READY(schedule) {
      ready = publishedQuotes(schedule).map((quote) => {
        const topics = subscriptionKinds.filter((kind) => kind.takes(quote)).map(({ name }) => name);
        return { message: publishedMessage(quote), topics };
      });
      return null;
    },
    async PUBLISH(schedule) {
      const publishedAt: number[] = [];
      await onSchedule(schedule, ready, (burst) => {
        for (const { message, topics } of burst) {
          publishedAt.push(nowMicros());
          for (const topic of topics) publish(topic, message);
        }
      });
      return publishedAt;
    },
  };
}
