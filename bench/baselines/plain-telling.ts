import type { Answers } from '../processes/answer-questions.js';
import { nowMicros, onSchedule, type TellingDialogue } from '../servers/telling.js';
import { followings, toldMessage, toldQuotes } from '../workload/told-quotes.js';

interface Ready {
  readonly message: Buffer;
  readonly topics: readonly string[];
}

/** Tells ready-made messages on schedule; `publish` is all that a server does about them. */
export function plainTelling(publish: (topic: string, message: Buffer) => void): Answers<TellingDialogue> {
  let ready: readonly Ready[] = [];
  return {
    READY(telling) {
      ready = toldQuotes(telling).map((quote) => {
        const topics = followings.filter((following) => following.takes(quote)).map(({ name }) => name);
        return { message: toldMessage(quote), topics };
      });
      return null;
    },
    async TELL(telling) {
      const toldAt: number[] = [];
      await onSchedule(telling, ready, (burst) => {
        for (const { message, topics } of burst) {
          toldAt.push(nowMicros());
          for (const topic of topics) publish(topic, message);
        }
      });
      return toldAt;
    },
  };
}
