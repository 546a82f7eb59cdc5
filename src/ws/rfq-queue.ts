import type { Rfq } from '../engine/command.js';
import type { Hex } from '../engine/quote.js';
import type { RfqMessage } from './messages.js';
import type { RfqPorts } from './ports.js';
import { rfqKey } from '../feed/topics.js';

/** What became of a request: the key it went to, or why it was not published. */
export type RfqOutcome = { readonly key: string } | { readonly problem: string };

/**
 * Publishes one socket's requests in the order in which they came: looking up the address of a pool key may take a
 * round trip to the chain, and a later request must not overtake it.
 */
export class RfqQueue {
  readonly #ports: RfqPorts;
  readonly #chainId: string;
  #waiting = 0;
  #lastSubmitted: Promise<unknown> = Promise.resolve();

  constructor(ports: RfqPorts, chainId: string) {
    this.#ports = ports;
    this.#chainId = chainId;
  }

  /** Requests that are neither published nor refused yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Rejects when a port does. */
  async publish(body: RfqMessage['body']): Promise<RfqOutcome> {
    this.#waiting++;
    try {
      const submission = this.#lastSubmitted.then(() => this.#submit(body));
      this.#lastSubmitted = submission.catch(() => null);
      const submitted = await submission;
      return 'problem' in submitted ? submitted : await submitted.outcome;
    } finally {
      this.#waiting--;
    }
  }

  /** Done as soon as the request has its place in the log; `outcome` settles when it is durable there. */
  async #submit(body: RfqMessage['body']): Promise<{ outcome: Promise<RfqOutcome> } | { problem: string }> {
    const poolAddress = await this.#poolAddress(body);
    if (poolAddress === 'IMPOSSIBLE') return { problem: 'Failed to fetch pool address' };
    if (poolAddress === 'UNAVAILABLE') return { problem: 'Failed to fetch pool address: the chain does not answer' };
    const { side, size, taker } = body;
    const rfq = { poolAddress, side, size: BigInt(size), taker: lowerCase(taker), body: JSON.stringify(body) };
    return { outcome: this.#outcome(rfq, this.#ports.publish(rfq)) };
  }

  async #poolAddress(body: RfqMessage['body']): ReturnType<RfqPorts['poolAddressOf']> {
    // Any address will do: a pool that nobody has deployed yet can be asked for, and only its key would tell more.
    if ('poolAddress' in body) return lowerCase(body.poolAddress);
    return this.#ports.poolAddressOf({ ...body.poolKey, strike: BigInt(body.poolKey.strike) });
  }

  async #outcome(rfq: Rfq, published: ReturnType<RfqPorts['publish']>): Promise<RfqOutcome> {
    const result = await published;
    return result === 'OK' ? { key: rfqKey(this.#chainId, rfq) } : { problem: `RFQ not published: ${result}` };
  }
}

function lowerCase(address: Hex): Hex {
  return address.toLowerCase() as Hex;
}
