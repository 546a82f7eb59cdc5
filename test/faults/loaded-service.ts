import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import { ONE, signQuote, type WireQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { until } from '../until.js';
import type { ServiceProcess } from './service-process.js';

const MAKERS = 3;
const BATCH = 4;
/** As docs/reference/api.md advises: what comes in several pieces gets through. */
const IDS_PER_REQUEST = 40;
const READER_PAUSE_MS = 5;

interface Message {
  readonly type: string;
  readonly seq: number;
  readonly prevSeq: number;
  readonly body: { readonly quoteId?: string };
}

interface Page {
  readonly seq: number;
  readonly more: boolean;
  readonly messages: readonly Message[];
}

/**
 * A service with clients that remember all that it told them, through all its lives: what was acknowledged, and each
 * event of the feed. The chain would give a lost quote back, but not its event's number and time: those are in the log
 * alone.
 */
export class LoadedService {
  readonly #chain: LocalChain;
  readonly #service: ServiceProcess;
  readonly #acked = new Set<string>();
  /** Acknowledged since the last check. */
  #fresh: string[] = [];
  /** Text of each message, by its number. */
  readonly #told = new Map<number, string>();
  #toldSeq = 0;
  /** How far a reader had come when this life began. */
  #checkedSeq = 0;
  #clients: Promise<unknown> = Promise.resolve();
  #isOver = true;

  constructor(chain: LocalChain, service: ServiceProcess) {
    this.#chain = chain;
    this.#service = service;
  }

  get acked(): number {
    return this.#acked.size;
  }

  get events(): number {
    return this.#told.size;
  }

  /** Starts the service, compares its events with those that clients got before, and puts it under load. */
  async start(nodeFlags: readonly string[] = []): Promise<void> {
    await this.#service.start(nodeFlags);
    await this.#check(this.#fresh);
    this.#isOver = false;
    const makers = Array.from({ length: MAKERS }, (_, maker) => this.#post(maker));
    this.#clients = Promise.all([...makers, this.#read()]);
  }

  /** Resolves once something was acknowledged in this life. */
  async acknowledges(): Promise<void> {
    await until(() => this.#fresh.length > 0);
  }

  /** Resolves when every client has seen that the service is gone, or takes nothing more. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#clients;
  }

  /** Everything is there that was ever told. */
  async checkAll(): Promise<void> {
    this.#checkedSeq = 0;
    await this.#check([...this.#acked]);
    const posted = [...this.#told.values()].map((text) => JSON.parse(text) as Message);
    const ids = posted.filter(({ type }) => type === 'POST_QUOTE').map(({ body }) => body.quoteId);
    assert.equal(new Set(ids).size, ids.length, 'no quote came into the book twice');
  }

  /** These are in the book, once each; and every event told since the last check is the same as it was then. */
  async #check(ids: readonly string[]): Promise<void> {
    const rest = this.#rest();
    for (let start = 0; start < ids.length; start += IDS_PER_REQUEST) {
      const wanted = ids.slice(start, start + IDS_PER_REQUEST);
      const query = wanted.map((id) => `quoteIds[]=${id}`).join('&');
      const { body } = await rest.get(`/orders?${query}`);
      const found = (body.validQuotes as { quoteId: string }[]).map(({ quoteId }) => quoteId);
      assert.deepEqual(found.sort(), [...wanted].sort(), 'what was acknowledged is there, once');
    }
    const before = this.#toldSeq;
    let at = this.#checkedSeq;
    for (let isOver = false; !isOver;) {
      const { body } = await rest.get(`/events?channel=QUOTES&fromSeq=${at}`);
      const page = body as unknown as Page;
      for (const message of page.messages) {
        assert.ok(message.prevSeq <= at, `no event between ${at} and ${message.prevSeq} is missing`);
        at = message.seq;
        if (at > before) this.#remember(message);
        else assert.equal(textOf(message), this.#told.get(at), `event ${at} is the one that clients got`);
      }
      at = page.seq;
      isOver = !page.more;
    }
    assert.ok(at >= before, `clients got event ${before}, ${at} is the last one there`);
    this.#checkedSeq = at;
    this.#fresh = [];
  }

  /** Posts batch after batch until the service is gone. */
  async #post(maker: number): Promise<void> {
    const account = this.#chain.accounts[1 + maker];
    const pool = this.#chain.pools[maker];
    if (account === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
    const rest = this.#rest();
    while (!this.#isOver) {
      const batch: WireQuote[] = [];
      while (batch.length < BATCH) batch.push(await signQuote(account.privateKey, pool, { size: ONE / 1000n }));
      const answer = await answerOrNothing(rest.post('/quotes', batch));
      if (answer === null) return;
      if (answer.status !== 201) continue;
      for (const { quoteId } of answer.body.created as { quoteId: string }[]) {
        this.#acked.add(quoteId);
        this.#fresh.push(quoteId);
      }
    }
  }

  /** Reads the feed until the service is gone. */
  async #read(): Promise<void> {
    const rest = this.#rest();
    while (!this.#isOver) {
      const answer = await answerOrNothing(rest.get(`/events?channel=QUOTES&fromSeq=${this.#toldSeq}`));
      if (answer === null) return;
      // A process that has just lost its disk can't read from it either.
      if (answer.status !== 200) return;
      for (const message of (answer.body as unknown as Page).messages) this.#remember(message);
      await pause(READER_PAUSE_MS);
    }
  }

  #remember(message: Message): void {
    this.#told.set(message.seq, textOf(message));
    this.#toldSeq = message.seq;
  }

  #rest(): RestClient {
    return new RestClient(this.#service.httpUrl, this.#service.apiKey);
  }
}

/** All of it but where its page began. */
function textOf(message: Message): string {
  return JSON.stringify({ ...message, prevSeq: undefined });
}

/** Null when the connection broke: neither acknowledged nor refused. */
async function answerOrNothing<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError) return null;
    throw error;
  }
}
