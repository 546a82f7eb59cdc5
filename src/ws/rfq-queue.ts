import type { Rfq } from '../engine/command.js';
import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { rfqKey } from '../feed/filters.js';
import { Deadline } from '../system/timers.js';
import { delayCode } from '../wire/error-codes.js';
import type { MessageProblem, RfqMessage } from './messages.js';
import type { RfqPorts } from './ports.js';

/** Outcome of a request: the key it went to, or why it was not published. */
export type RfqOutcome = { readonly key: string } | { readonly problem: MessageProblem };

type PoolAddress = Awaited<ReturnType<RfqPorts['poolAddressOf']>>;

/**
 * Publishes one socket's requests in the order in which they came: looking up the address of a pool key may take a
 * round trip to the chain, and a later request must not overtake it. Nodes that leave questions open do not hold
 * requests up for long: who asks for quotes wants them now.
 */
export class RfqQueue {
  readonly #ports: RfqPorts;
  readonly #chainId: string;
  readonly #clock: Clock;
  readonly #lookupMs: number;
  #waiting = 0;
  #lastSubmitted: Promise<unknown> = Promise.resolve();

  /** `lookupMs`: how long after a request came the address of its pool key may be unknown. */
  constructor(ports: RfqPorts, chainId: string, clock: Clock, lookupMs: number) {
    this.#ports = ports;
    this.#chainId = chainId;
    this.#clock = clock;
    this.#lookupMs = lookupMs;
  }

  /** Requests that are neither published nor refused yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Rejects when a port does. */
  async publish(body: RfqMessage['body'], owner: string | null): Promise<RfqOutcome> {
    this.#waiting++;
    const giveUpAtMs = this.#clock.monotonicMs() + this.#lookupMs;
    try {
      const submission = this.#lastSubmitted.then(() => this.#submit(body, owner, giveUpAtMs));
      this.#lastSubmitted = submission.catch(() => null);
      const submitted = await submission;
      return 'problem' in submitted ? submitted : await submitted.outcome;
    } finally {
      this.#waiting--;
    }
  }

  /** Done as soon as the request has its place in the log; `outcome` settles when it is durable there. */
  async #submit(
    body: RfqMessage['body'],
    owner: string | null,
    giveUpAtMs: number,
  ): Promise<{ outcome: Promise<RfqOutcome> } | { problem: MessageProblem }> {
    const poolAddress = await this.#poolAddress(body, giveUpAtMs);
    if (poolAddress === 'IMPOSSIBLE') {
      return { problem: { code: 'invalid_pool_key', message: 'Failed to fetch pool address' } };
    }
    if (poolAddress === 'UNAVAILABLE') {
      const message = 'Failed to fetch pool address: the chain does not answer';
      return { problem: { code: 'chain_unavailable', message } };
    }
    const { side, size, taker } = body;
    const rfq = { poolAddress, side, size: BigInt(size), taker: lowerCase(taker), body: JSON.stringify(body) };
    return { outcome: this.#outcome(rfq, this.#ports.publish(rfq, owner)) };
  }

  async #poolAddress(body: RfqMessage['body'], giveUpAtMs: number): Promise<PoolAddress> {
    // Any address will do: a pool that nobody has deployed yet can be asked for, and only its key would tell more.
    if ('poolAddress' in body) return lowerCase(body.poolAddress);
    const leftMs = giveUpAtMs - this.#clock.monotonicMs();
    // It has waited all that time for those before it in the queue: the chain does not answer.
    if (leftMs <= 0) return 'UNAVAILABLE';
    const poolKey = { ...body.poolKey, strike: BigInt(body.poolKey.strike) };
    const address = await new Deadline(this.#clock, leftMs).wait(this.#ports.poolAddressOf(poolKey));
    return address === 'TOO_LONG' ? 'UNAVAILABLE' : address;
  }

  async #outcome(rfq: Rfq, published: ReturnType<RfqPorts['publish']>): Promise<RfqOutcome> {
    const result = await published;
    if (result === 'OK') return { key: rfqKey(this.#chainId, rfq) };
    return { problem: { code: delayCode(result), message: `RFQ not published: ${result}` } };
  }
}

function lowerCase(address: Hex): Hex {
  return address.toLowerCase() as Hex;
}
