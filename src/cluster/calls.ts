import type { Msg, Subscription } from '@nats-io/transport-node';
import type { Clock } from '../engine/ports.js';
import { pause } from '../system/timers.js';
import { type ClusterConnection, ClusterError } from './connection.js';

/** What a gateway may have the leader do, by name. Arguments and results are JSON, and may hold bigints. */
export type CallHandlers = Readonly<Record<string, (...args: never[]) => Promise<unknown>>>;

interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
}

type Answer =
  | { readonly type: 'DONE'; readonly value: unknown; readonly index: number }
  | { readonly type: 'FAILED'; readonly message: string };

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
  /** Calls under way at once; beyond that they are refused. */
  readonly maxCalls: number;
  readonly onFault: (error: unknown) => void;
}

/** Answers the calls of gateways, in the leader. */
export class CallServer {
  readonly #options: CallServerOptions;
  readonly #subscription: Subscription;
  readonly #underWay = new Set<Promise<void>>();

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

  /** Takes no more calls; resolves when those under way are answered. */
  async stop(): Promise<void> {
    this.#subscription.unsubscribe();
    await Promise.all(this.#underWay);
  }

  async #answer(message: Msg): Promise<void> {
    const { handlers, index, maxCalls, onFault } = this.#options;
    let answer: Answer;
    try {
      const { name, args } = decode(message.data) as Call;
      const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
      if (handler === undefined) answer = { type: 'FAILED', message: `the leader knows no ${name}: upgrade it` };
      else if (this.#underWay.size > maxCalls) answer = { type: 'FAILED', message: BUSY };
      else {
        const value = await handler(...(args as never[]));
        answer = { type: 'DONE', value, index: index() };
      }
    } catch (error) {
      onFault(error);
      answer = { type: 'FAILED', message: 'Internal error of the leader' };
    }
    message.respond(encode(answer));
  }
}

const BUSY = 'too many calls are under way';

export interface CallClientOptions {
  readonly clock: Clock;
  /** The leader's term as far as this gateway knows; 0: none. */
  readonly term: () => number;
  /** Resolves when this gateway's replica shows that record. */
  readonly shows: (index: number) => Promise<void>;
  /** Pause before a call is sent again. */
  readonly retryMs: number;
}

export interface CallOptions {
  /** How long its answer may take. */
  readonly timeoutMs: number;
  /** Doing it twice comes to the same: after a failover it is sent again, until that time has passed. */
  readonly retryForMs: number;
}

/** No leader has answered: it is not known whether the call was carried out. */
export class NoLeader extends Error {
  override readonly name = 'NoLeader';
}

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
   * The leader's answer, once this gateway's replica shows every record that it may rest on. Rejects with NoLeader, or
   * with what the leader says went wrong.
   */
  async call<Result>(name: string, args: readonly unknown[], options: CallOptions): Promise<Result> {
    const { clock, retryMs, shows } = this.#options;
    const untilMs = clock.monotonicMs() + options.retryForMs;
    const payload = encode({ name, args } satisfies Call);
    for (;;) {
      try {
        const answer = await this.#send(payload, options.timeoutMs);
        if (answer.type === 'FAILED') throw new ClusterError('UNREACHABLE', answer.message);
        await shows(answer.index);
        return answer.value as Result;
      } catch (error) {
        if (!(error instanceof NoLeader) || clock.monotonicMs() >= untilMs) throw error;
      }
      await pause(clock, retryMs);
    }
  }

  async #send(payload: Buffer, timeoutMs: number): Promise<Answer> {
    const term = this.#options.term();
    if (term === 0) throw new NoLeader('the cluster has had no leader yet');
    let end: () => void = () => undefined;
    const isOver = new Promise<never>((_, reject) => {
      end = () => reject(new NoLeader(`the leader of term ${term} was deposed`));
      this.#onTerm.add(end);
    });
    isOver.catch(() => undefined);
    try {
      const request = this.#cluster.nats.request(subjectOf(this.#cluster, term), payload, { timeout: timeoutMs });
      return decode((await Promise.race([request, isOver])).data) as Answer;
    } catch (cause) {
      if (cause instanceof NoLeader) throw cause;
      throw new NoLeader(`the leader of term ${term} gives no answer`, { cause });
    } finally {
      this.#onTerm.delete(end);
    }
  }
}
