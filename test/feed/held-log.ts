import { setImmediate as turn } from 'node:timers/promises';
import type { EventHistory, PastEventsPage, TimedEvent } from '../../src/feed/event-history.js';
import { enter, sampleQuote } from '../engine/samples.js';
import type { FakeSocket } from '../ws/fake-net.js';
import { epoch, FeedFixture, filter, takeMessages, type FeedFixtureOptions } from './feed-fixture.js';

/** A log that answers when a test says so. */
export class HeldLog implements EventHistory {
  readonly since = 0;
  readonly #asked: ((page: PastEventsPage | Promise<never>) => void)[] = [];

  read(): Promise<PastEventsPage> {
    return new Promise((resolve) => this.#asked.push(resolve));
  }

  readSince(): never {
    throw new Error('readers go on by numbers');
  }

  answer(page: PastEventsPage): Promise<void> {
    return this.#answer(page);
  }

  fail(fault: Error): Promise<void> {
    return this.#answer(Promise.reject(fault));
  }

  async #answer(page: PastEventsPage | Promise<never>): Promise<void> {
    const resolve = this.#asked.shift();
    if (resolve === undefined) throw new Error('nobody asked');
    resolve(page);
    await turn();
  }
}

/** A reader of QUOTES who comes back after three events, and waits for the log to tell them. */
export interface Returned {
  readonly fixture: FeedFixture;
  readonly log: HeldLog;
  readonly reader: FakeSocket;
  readonly missed: readonly TimedEvent[];
}

export function returned(limits: FeedFixtureOptions['limits'] = {}, wish: object = {}): Returned {
  const log = new HeldLog();
  const fixture = new FeedFixture({ older: log, limits: { recentEvents: 1, ...limits } });
  for (let n = 0; n < 3; n++) fixture.do(enter(sampleQuote({ n })));
  const missed = fixture.committed.flatMap(({ events, stamp: { tsMs } }) => events.map((event) => ({ event, tsMs })));
  const reader = fixture.authorized();
  reader.says(filter('QUOTES', { epoch, fromSeq: 0, ...wish }));
  takeMessages(reader);
  return { fixture, log, reader, missed };
}
