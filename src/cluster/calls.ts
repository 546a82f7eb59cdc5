import { errors, type Msg, type Subscription } from '@nats-io/transport-node';
import type { Clock, Random } from '../engine/ports.js';
import { Deadline, pause } from '../system/timers.js';
import { type ClusterConnection, ClusterError, isUnserved } from './connection.js';

/** Calls that the leader does for gateways, by name. Arguments and results are JSON, and may hold bigints. */
export type CallHandlers = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

interface Call {
  /** The same where it is sent again, and of no other call. Absent: an older gateway's. */
  readonly id?: string;
  readonly name: string;
  readonly args: readonly unknown[];
}

type Answer =
  | {
      readonly type: 'DONE';
      readonly value: unknown;
      readonly index: number;
      /** Absent: an older leader's. */
      readonly engineMs?: number;
    }
  | {
      readonly type: 'FAILED';
      readonly message: string;
      /** The call was not taken, and may be sent again. An older gateway takes it for any failure. */
      readonly isBusy?: true;
    };

const BIGINT = '$bigint';

function encode(value: unknown): Buffer {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'bigint' ? { [BIGINT]: part.toString() } : part,
  );
  return Buffer.from(text);
}

function decode(data: Uint8Array): unknown {
  return JSON.parse(Buffer.from(data).toString('utf8'), (_, part: unknown) => {
    const text = (part as { readonly [BIGINT]?: unknown } | null)?.[BIGINT];
    return typeof text === 'string' ? BigInt(text) : part;
  });
}

/** The subject that only the leader of that term listens to: a deposed one hears nothing. */
function subjectOf({ names }: ClusterConnection, term: number): string {
  return `${names.calls}.${term}`;
}

export interface CallServerOptions {
  readonly term: number;
  readonly handlers: CallHandlers;
  /** The last record that an answer may show. */
  readonly index: () => number;
  /** The leader's engine time, which an answer may count from, Unix milliseconds. */
  readonly engineMs: () => number;
  /** Calls under way at once, beyond which they are refused; and answers that are remembered. */
  readonly maxCalls: number;
  /** How long an answer is remembered, for a call that is sent again. */
  readonly answerKeptMs: number;
  /** How long a stop waits for calls under way. */
  readonly drainMs: number;
  readonly clock: Clock;
  readonly onFault: (error: unknown) => void;
}

/** Answers the calls of gateways, in the leader. */
export class CallServer {
  readonly #options: CallServerOptions;
  readonly #subscription: Subscription;
  readonly #underWay = new Set<Promise<void>>();
  /** Calls under way, by their ids: one that comes again meanwhile gets the same answer. */
  readonly #unanswered = new Map<string, Promise<Answer>>();
  /** Answers of calls that have ended, by their ids, the oldest first: for those that come again. */
  readonly #answers = new Map<string, Answer>();
  /** Nothing is answered any more. */
  #isStopped = false;

  constructor(cluster: ClusterConnection, options: CallServerOptions) {
    this.#options = options;
    this.#subscription = cluster.nats.subscribe(subjectOf(cluster, options.term), {
      callback: (error, message) => {
        if (error !== null) return;
        const answering = this.#answer(message).finally(() => this.#underWay.delete(answering));
        this.#underWay.add(answering);
      },
    });
  }

  /**
   * Takes no more calls; resolves when those under way are answered, after `drainMs` at the latest. A call that waits for
   * a quorum that is gone is left unanswered: its gateway does not know then whether it was carried out.
   */
  async stop(): Promise<void> {
    const { clock, drainMs } = this.#options;
    this.#subscription.unsubscribe();
    await new Deadline(clock, drainMs).wait(Promise.all(this.#underWay));
    this.#isStopped = true;
  }

  async #answer(message: Msg): Promise<void> {
    try {
      this.#respond(message, await this.#carryOutOnce(decode(message.data) as Call));
    } catch (error) {
      // Also where the answer is more than a message may have.
      this.#options.onFault(error);
      this.#respond(message, { type: 'FAILED', message: 'Internal error of the leader' });
    }
  }

  #respond(message: Msg, answer: Answer): void {
    // The connection may be closed by now.
    if (!this.#isStopped) message.respond(encode(answer));
  }

  async #carryOutOnce(call: Call): Promise<Answer> {
    const { id } = call;
    const known = id === undefined ? undefined : (this.#answers.get(id) ?? this.#unanswered.get(id));
    if (known !== undefined) return known;
    const { maxCalls } = this.#options;
    // A refused call is not remembered, so that it may be sent again.
    if (this.#underWay.size >= maxCalls) return { type: 'FAILED', message: BUSY, isBusy: true };
    const answering = this.#carryOut(call);
    if (id === undefined) return answering;
    this.#unanswered.set(id, answering);
    const answer = await answering;
    this.#unanswered.delete(id);
    this.#remember(id, answer);
    return answer;
  }

  #remember(id: string, answer: Answer): void {
    const { clock, answerKeptMs, maxCalls } = this.#options;
    const [oldest] = this.#answers.keys();
    if (oldest !== undefined && this.#answers.size >= maxCalls) this.#answers.delete(oldest);
    this.#answers.set(id, answer);
    clock.after(answerKeptMs, () => this.#answers.delete(id));
  }

  async #carryOut({ name, args }: Call): Promise<Answer> {
    const { handlers, index, engineMs, onFault } = this.#options;
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (handler === undefined) return { type: 'FAILED', message: `the leader knows no ${name}: upgrade it` };
    try {
      const value = await handler(...(args as never[]));
      return { type: 'DONE', value, index: index(), engineMs: engineMs() };
    } catch (error) {
      onFault(error);
      return { type: 'FAILED', message: 'Internal error of the leader' };
    }
  }
}

const BUSY = 'too many calls are under way';

export interface CallClientOptions {
  readonly clock: Clock;
  readonly random: Pick<Random, 'bytes'>;
  /** The leader's term as far as this gateway knows; 0: none. */
  readonly term: () => number;
  /** There has been no word from the leader for too long. */
  readonly isLeaderMissing: () => boolean;
  /** Resolves when this gateway's replica shows that record. */
  readonly shows: (index: number) => Promise<void>;
  /** Called with the engine time that each answer is of, Unix milliseconds. */
  readonly onEngineTime: (engineMs: number) => void;
  /** Pause before a call is sent again after a failure. */
  readonly retryMs: number;
  /** A call without an answer is sent again after this time: the call or its answer may be lost with a connection. */
  readonly resendMs: number;
}

export interface CallOptions {
  /** How long its answer may take. */
  readonly timeoutMs: number;
  /**
   * Doing it twice comes to the same: it is sent to the next leader as well, until this time has passed without one. 0:
   * it is sent to one leader alone.
   */
  readonly retryForMs: number;
}

/** No leader has answered, and none has carried the call out, unless it is an OutcomeUnknown. */
export class NoLeader extends Error {
  override readonly name: string = 'NoLeader';
}

/** A leader may have the call: it is not known whether it was, or will be, carried out. */
export class OutcomeUnknown extends NoLeader {
  override readonly name = 'OutcomeUnknown';
}

const ID_BYTES = 16;

/** Calls the leader from a gateway. */
export class CallClient {
  readonly #cluster: ClusterConnection;
  readonly #options: CallClientOptions;
  #onTerm = new Set<() => void>();

  constructor(cluster: ClusterConnection, options: CallClientOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Another leader has begun its term: calls to the one before are not answered any more. */
  termBegan(): void {
    const waiting = this.#onTerm;
    this.#onTerm = new Set();
    for (const end of waiting) end();
  }

  /**
   * The leader's answer, once this gateway's replica shows every record that it may rest on. Rejects with NoLeader, with
   * OutcomeUnknown if any leader may have the call, or with what the leader says went wrong.
   */
  async call<Result>(name: string, args: readonly unknown[], options: CallOptions): Promise<Result> {
    const { clock, random, retryMs, onEngineTime, term } = this.#options;
    const startMs = clock.monotonicMs();
    const id = Buffer.from(random.bytes(ID_BYTES)).toString('hex');
    const payload = encode({ id, name, args } satisfies Call);
    const firstTerm = term();
    let unknown: OutcomeUnknown | null = null;
    for (;;) {
      try {
        const answer = await this.#send(payload, startMs + options.timeoutMs);
        if (answer.type === 'FAILED') {
          if (answer.isBusy === true) throw new NoLeader(answer.message);
          throw new ClusterError('UNREACHABLE', answer.message);
        }
        if (answer.engineMs !== undefined) onEngineTime(answer.engineMs);
        return answer.value as Result;
      } catch (error) {
        if (!(error instanceof NoLeader)) throw error;
        if (error instanceof OutcomeUnknown) unknown = error;
        await pause(clock, retryMs);
        const passedMs = clock.monotonicMs() - startMs;
        // The leader that has the call may still be at it: it carries a call out once, however often it is sent.
        const isWorking = firstTerm > 0 && term() === firstTerm && !this.#options.isLeaderMissing();
        if (passedMs >= (isWorking ? options.timeoutMs : options.retryForMs)) throw unknown ?? error;
      }
    }
  }

  async #send(payload: Buffer, untilMs: number): Promise<Answer> {
    const { clock, resendMs } = this.#options;
    const term = this.#options.term();
    if (term === 0) throw new NoLeader('the cluster has had no leader yet');
    if (this.#options.isLeaderMissing()) throw new NoLeader(`the leader of term ${term} is silent`);
    let end: () => void = () => undefined;
    const isOver = new Promise<never>((_, reject) => {
      end = () => reject(new OutcomeUnknown(`the leader of term ${term} was deposed`));
      this.#onTerm.add(end);
    });
    isOver.catch(() => undefined);
    try {
      const timeout = Math.min(resendMs, Math.max(1, untilMs - clock.monotonicMs()));
      const request = this.#cluster.nats.request(subjectOf(this.#cluster, term), payload, { timeout });
      const answer = decode((await Promise.race([request, isOver])).data) as Answer;
      if (answer.type === 'DONE') await Promise.race([this.#shown(answer.index, term, untilMs), isOver]);
      return answer;
    } catch (cause) {
      // The latter: the call is more than a message may have, and was not sent.
      if (cause instanceof NoLeader || cause instanceof errors.InvalidArgumentError) throw cause;
      const message = `the leader of term ${term} gives no answer`;
      throw isUnserved(cause) ? new NoLeader(message, { cause }) : new OutcomeUnknown(message, { cause });
    } finally {
      this.#onTerm.delete(end);
    }
  }

  /** The records of an answer may not be committed yet. They never come if their leader dies before a quorum has them. */
  async #shown(index: number, term: number, untilMs: number): Promise<void> {
    const { clock, resendMs, shows, isLeaderMissing } = this.#options;
    const shown = shows(index);
    for (;;) {
      const leftMs = untilMs - clock.monotonicMs();
      if ((await new Deadline(clock, Math.min(resendMs, leftMs)).wait(shown)) !== 'TOO_LONG') return;
      if (leftMs > resendMs && !isLeaderMissing()) continue;
      throw new OutcomeUnknown(`record ${index} of the leader of term ${term} does not come`);
    }
  }
}
