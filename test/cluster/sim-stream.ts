import type { Clock } from '../../src/engine/ports.js';
import type { LeaseStore } from '../../src/cluster/leadership.js';
import {
  type LogStream,
  type ReplicatedGroup,
  type StreamMessage,
  type TermContent,
  WrongLastSequence,
} from '../../src/cluster/log-stream.js';
import type { LogPoint } from '../../src/persistence/format/header.js';
import type { SeededRandom } from '../simulation/seeded-random.js';

/** How often what goes wrong; each a probability of one call or delivery. */
export interface StreamTroubles {
  readonly lostRequest: number;
  readonly lostAnswer: number;
  readonly duplicate: number;
  readonly lostDelivery: number;
  readonly flippedBit: number;
}

export const NO_TROUBLES: StreamTroubles = {
  lostRequest: 0,
  lostAnswer: 0,
  duplicate: 0,
  lostDelivery: 0,
  flippedBit: 0,
};

/** How long a client waits for an answer. */
const CALL_MS = 400;

/** The stream as the servers hold it, in memory: appends are fenced by the expected last sequence, as in JetStream. */
export class SimStream {
  readonly messages: StreamMessage[] = [];
  readonly #listeners = new Set<(message: StreamMessage) => void>();
  readonly #clock: Clock;
  readonly #random: SeededRandom;
  troubles: StreamTroubles = NO_TROUBLES;

  constructor(clock: Clock, random: SeededRandom) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Appends now, or throws. */
  append(message: (seq: number) => StreamMessage, expectedLast: number): number {
    if (expectedLast !== this.messages.length) {
      throw new WrongLastSequence(`wrong last sequence: ${this.messages.length}`);
    }
    const seq = expectedLast + 1;
    const appended = message(seq);
    this.messages.push(appended);
    for (const listener of this.#listeners) {
      if (this.#random.chance(this.troubles.lostDelivery)) continue;
      this.#clock.after(this.#random.below(20), () => this.#listeners.has(listener) && listener(this.copyOf(appended)));
    }
    return seq;
  }

  /** As a replica gives it: perhaps not as it was written. */
  copyOf(message: StreamMessage): StreamMessage {
    if (message.type === 'TERM' || !this.#random.chance(this.troubles.flippedBit)) return message;
    const bytes = Buffer.from(message.bytes);
    const at = this.#random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << this.#random.below(8));
    return { ...message, bytes };
  }

  subscribe(listener: (message: StreamMessage) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** One process's connection to the stream. What it sent before it died may still arrive. */
export class SimConnection implements LogStream {
  isCut = false;
  readonly #stream: SimStream;
  /** Of the servers, and of the process: a dead or frozen one hears nothing. */
  readonly #network: Clock;
  readonly #clock: Clock;
  readonly #random: SeededRandom;

  constructor(stream: SimStream, network: Clock, clock: Clock, random: SeededRandom) {
    this.#stream = stream;
    this.#network = network;
    this.#clock = clock;
    this.#random = random;
  }

  appendGroup({ before, after, bytes }: ReplicatedGroup, term: number, expectedLast: number): Promise<number> {
    const copy = Buffer.from(bytes);
    return this.#call((times) => {
      let seq = 0;
      for (let time = 0; time < times; time += 1) {
        const message = (at: number): StreamMessage => ({
          type: 'GROUP',
          seq: at,
          term,
          group: after.group,
          firstIndex: before.index + 1,
          eventSeq: after.seq,
          previous: before.chain.toString('hex'),
          bytes: copy,
        });
        // A second copy of a request is rejected, and its answer is lost among those nobody waits for.
        if (time === 0) seq = this.#stream.append(message, expectedLast);
        else this.#tryAppend(message, expectedLast);
      }
      return seq;
    });
  }

  appendTerm(content: TermContent, at: LogPoint, expectedLast: number): Promise<number> {
    return this.#call(() =>
      this.#stream.append(
        (seq) => ({ type: 'TERM', seq, term: seq, group: at.group, eventSeq: at.seq, content }),
        expectedLast,
      ),
    );
  }

  lastSequence(): Promise<number> {
    return this.#call(() => this.#stream.messages.length);
  }

  get(seq: number): Promise<StreamMessage | null> {
    return this.#call(() => this.#stream.messages[seq - 1] ?? null);
  }

  read(seq: number, messages: number): Promise<readonly StreamMessage[]> {
    return this.#call(() => {
      const found = this.#stream.messages.slice(seq - 1, seq - 1 + messages);
      const hole = this.#random.chance(this.#stream.troubles.lostDelivery) ? this.#random.below(found.length + 1) : -1;
      return found.filter((_, place) => place !== hole).map((message) => this.#stream.copyOf(message));
    });
  }

  subscribe(listener: (message: StreamMessage) => void): () => void {
    let isOver = false;
    const stop = this.#stream.subscribe((message) => {
      // By way of the process's own clock, which stands still while it is frozen.
      if (!this.isCut) this.#clock.after(0, () => !isOver && listener(message));
    });
    return () => {
      isOver = true;
      stop();
    };
  }

  #tryAppend(message: (seq: number) => StreamMessage, expectedLast: number): void {
    try {
      this.#stream.append(message, expectedLast);
    } catch (error) {
      if (!(error instanceof WrongLastSequence)) throw error;
    }
  }

  /** `work` is done when the request arrives, some time later, or never; the answer may be lost. */
  #call<Value>(work: (times: number) => Value): Promise<Value> {
    const { troubles } = this.#stream;
    const isLost = this.isCut || this.#random.chance(troubles.lostRequest);
    const isUnanswered = this.#random.chance(troubles.lostAnswer);
    const times = this.#random.chance(troubles.duplicate) ? 2 : 1;
    return new Promise((resolve, reject) => {
      this.#clock.after(CALL_MS, () => reject(new Error('no answer in time')));
      if (isLost) return;
      // Some requests take longer than their sender waits.
      const delayMs = this.#random.chance(0.02) ? this.#random.below(3 * CALL_MS) : this.#random.below(10);
      this.#network.after(delayMs, () => {
        let answer: () => void;
        try {
          const value = work(times);
          answer = () => resolve(value);
        } catch (error) {
          const reason = error instanceof Error ? error : new Error(String(error));
          answer = () => reject(reason);
        }
        if (!isUnanswered && !this.isCut) this.#clock.after(this.#random.below(10), answer);
      });
    });
  }
}

/** The lease as the servers hold it. */
export class SimLease {
  #holder: string | null = null;
  #revision = 0;
  #expiresMs = 0;

  constructor(
    private readonly clock: Clock,
    private readonly ttlMs: number,
  ) {}

  connect(connection: () => { readonly isCut: boolean }, clock: Clock): LeaseStore {
    const call = <Value>(work: () => Value): Promise<Value> =>
      new Promise((resolve, reject) => {
        if (connection().isCut) clock.after(CALL_MS, () => reject(new Error('no answer in time')));
        else clock.after(2, () => resolve(work()));
      });
    return {
      create: (holder) => call(() => (this.#current() === null ? this.#set(holder) : null)),
      renew: (holder, revision) =>
        call(() => (this.#current() === holder && this.#revision === revision ? this.#set(holder) : null)),
      release: (revision) =>
        call(() => {
          if (this.#revision === revision) this.#holder = null;
        }),
      seize: (holder, revision) =>
        call(() => (this.#current() !== null && this.#revision === revision ? this.#set(holder) : null)),
      revision: () => call(() => (this.#current() === null ? null : this.#revision)),
    };
  }

  #current(): string | null {
    return this.clock.monotonicMs() < this.#expiresMs ? this.#holder : null;
  }

  #set(holder: string): number {
    this.#holder = holder;
    this.#expiresMs = this.clock.monotonicMs() + this.ttlMs;
    this.#revision += 1;
    return this.#revision;
  }
}
