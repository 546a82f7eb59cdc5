import { setTimeout as pause } from 'node:timers/promises';
import { createPublicClient, createTestClient, hashTypedData, http } from 'viem';
import { orderbookStreamAbi } from '../../src/chain/contracts/abi.js';
import { QUOTE_TYPES } from '../auth/quote-types.js';
import { FeedClient } from '../e2e/feed-client.js';
import { type WireQuote, ZERO, signQuote } from '../e2e/maker.js';
import { ModelReader, quotesHash } from '../feed/model-reader.js';
import type { ClusterReady } from './cluster-process.js';
import {
  type AcknowledgedWrite,
  checkRun,
  type FinalBook,
  type ReadAfterWrite,
  type SeenEvent,
} from './history-checker.js';

/** A client of the feed, over all its connections. */
interface Observer {
  readonly name: string;
  readonly epochs: Set<string>;
  readonly events: SeenEvent[];
  fromSeq: number;
  endSeq: number;
}

/** Reads one gateway's events in pages, and remembers when that called itself stale. */
interface PageReader extends Observer {
  readonly place: number;
  readonly staleMs: number[];
  readonly freshMs: number[];
}

/** Follows the feed on a socket, and resumes at the next gateway when that breaks. */
interface SocketReader extends Observer {
  readonly reader: ModelReader;
  /** By the last heartbeat. */
  completeSeq: number;
  resumed: number;
}

interface EventMessage {
  readonly type: string;
  readonly seq: number;
  readonly prevSeq: number;
  readonly body: { readonly quoteId?: string };
}

interface EventsPage {
  readonly epoch: string;
  readonly seq: number;
  readonly more: boolean;
  readonly messages: readonly EventMessage[];
}

const TIMEOUT_MS = 30_000;
const LEVEL_MS = 60_000;
const MAX_SHOWN = 20;
const SOCKETS = 2;
/** Longer than any run: an expired quote would be missing in the book and not in the reading of the chain. */
const QUOTE_LIFE_SECONDS = 86_400;
/** Of the local chain: each has one transaction. */
const BLOCKS_AT_ONCE = 2_000n;

/**
 * Clients of a cluster that record every answer and every event with times, as Jepsen's do. The history alone shows
 * afterwards whether a promise was broken: see checkRun.
 */
export class History {
  readonly acknowledged: AcknowledgedWrite[] = [];
  readonly refused: { readonly status: number; readonly atMs: number }[] = [];
  readonly pageReaders: readonly PageReader[];
  readonly #reads: ReadAfterWrite[] = [];
  /** Promises that one answer shows to be broken, in words. */
  readonly #violations: string[] = [];
  readonly #socketReaders: readonly SocketReader[];
  readonly #readyNow: () => ClusterReady;
  readonly #running: Promise<void>[] = [];
  /** When each write that has no answer yet was first sent. */
  readonly #pending = new Set<{ readonly startMs: number }>();
  /** Of each event, as the first observer saw it: observers of the same share it, so that long runs fit into memory. */
  readonly #texts = new Map<number, string>();
  #isStopped = false;
  #salt = 1;

  /** `readyNow`: the cluster as it is now. */
  constructor(readyNow: () => ClusterReady) {
    this.#readyNow = readyNow;
    const empty = () => ({ epochs: new Set<string>(), events: [], fromSeq: 0, endSeq: 0 });
    this.pageReaders = readyNow().gateways.map((_, place) => ({
      name: `GET /events at gateway ${place + 1}`,
      place,
      staleMs: [],
      freshMs: [],
      ...empty(),
    }));
    this.#socketReaders = Array.from({ length: SOCKETS }, (_, n) => ({
      name: `socket ${n + 1}`,
      reader: new ModelReader(),
      completeSeq: 0,
      resumed: 0,
      ...empty(),
    }));
  }

  start(writers: number): void {
    for (let writer = 0; writer < writers; writer += 1) this.#running.push(this.#write(writer));
    for (const reader of this.pageReaders) this.#running.push(this.#followPages(reader));
    for (const [n, reader] of this.#socketReaders.entries()) this.#running.push(this.#followSocket(reader, n));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** Milliseconds until a write that was sent after `afterMs`, or had no answer then, is acknowledged. */
  async acknowledgedAfter(afterMs: number, withinMs = 120_000): Promise<number> {
    for (;;) {
      const first = this.acknowledged.find(({ startMs, endMs }) => startMs >= afterMs || endMs >= afterMs + 500);
      if (first !== undefined) return Math.round(first.endMs - afterMs);
      if (performance.now() - afterMs > withinMs) throw new Error(`no write is acknowledged within ${withinMs} ms`);
      await pause(20);
    }
  }

  /** The longest time that a client had to try until its write was acknowledged, of those with an end after `sinceMs`. */
  longestWriteMs(sinceMs = 0): number {
    const nowMs = performance.now();
    let longestMs = 0;
    for (const { startMs, endMs } of this.acknowledged) {
      if (endMs >= sinceMs) longestMs = Math.max(longestMs, endMs - startMs);
    }
    for (const { startMs } of this.#pending) longestMs = Math.max(longestMs, nowMs - startMs);
    return Math.round(longestMs);
  }

  get summary(): string {
    const events = this.pageReaders.map((reader) => reader.events.length).join(' and ');
    const resumed = this.#socketReaders.reduce((sum, reader) => sum + reader.resumed, 0);
    return (
      `${this.acknowledged.length} writes acknowledged, ${this.refused.length} answers refused one, ` +
      `${this.#reads.length} reads after writes, events ${events}, sockets resumed ${resumed} times, ` +
      `longest write ${this.longestWriteMs()} ms`
    );
  }

  /** After `stop`: the promises that were broken. `rpcUrl`: the book is read from the chain as well. */
  async check(): Promise<readonly string[]> {
    await this.#level();
    const books = [...(await this.#books()), await this.#bookOfChain()];
    const observations = [...this.pageReaders, ...this.#socketReaders].map((observer) => ({
      ...observer,
      observer: observer.name,
    }));
    const found = checkRun({ writes: this.acknowledged, reads: this.#reads, observations, books });
    // One broken promise is often seen a thousand times.
    return [...new Set([...this.#violations, ...found, ...(await this.#nonces())])].slice(0, MAX_SHOWN);
  }

  /** Reads until all observers have come equally far. */
  async #level(): Promise<void> {
    const untilMs = performance.now() + LEVEL_MS;
    for (;;) {
      for (const reader of this.pageReaders) await this.#readToEnd(reader);
      const seq = Math.max(...this.pageReaders.map(({ endSeq }) => endSeq));
      await Promise.all(
        this.#socketReaders.map((reader, n) => this.#connect(reader, n, () => reader.reader.seq >= seq)),
      );
      if (this.pageReaders.every(({ endSeq }) => endSeq === seq) || performance.now() > untilMs) return;
    }
  }

  /** Of every gateway by a new connection's snapshot, and of every socket by the events that it saw. */
  async #books(): Promise<FinalBook[]> {
    const { gateways, apiKey } = this.#readyNow();
    const books: FinalBook[] = [];
    for (const [place, { wsUrl }] of gateways.entries()) {
      const client = await FeedClient.open(wsUrl, apiKey);
      client.follow('QUOTES', {});
      await client.until(() => client.reader.canResume);
      client.break();
      books.push(bookOf(`gateway ${place + 1}`, client.reader.allQuotes));
    }
    return [
      ...books,
      ...this.#socketReaders.map(({ name, reader }) => bookOf(`the events of ${name}`, reader.allQuotes)),
    ];
  }

  /** A fresh reading. No client here fills or cancels anything, and no quote expires meanwhile. */
  async #bookOfChain(): Promise<FinalBook> {
    const { rpcUrl, contracts, pools, chainId } = this.#readyNow();
    const client = createPublicClient({ transport: http(rpcUrl) });
    const query = { address: contracts.orderbookStream, abi: orderbookStreamAbi, eventName: 'PublishQuote' } as const;
    const head = await client.getBlockNumber();
    const logs = [];
    // In parts: viem refuses an answer of 10 MiB, and long runs have more.
    for (let fromBlock = 0n; fromBlock <= head; fromBlock += BLOCKS_AT_ONCE) {
      const toBlock = fromBlock + BLOCKS_AT_ONCE - 1n;
      logs.push(...(await client.getContractEvents({ ...query, fromBlock, toBlock, strict: true })));
    }
    const quotes = logs.map(({ args: { poolKey, provider, taker, price, size, isBuy, deadline, salt } }) => {
      const pool = pools.find(
        (at) =>
          BigInt(at.poolKey.strike) === poolKey.strike &&
          at.poolKey.isCallPool === poolKey.isCallPool &&
          BigInt(at.poolKey.maturity) === poolKey.maturity,
      );
      if (pool === undefined) throw new Error('a quote for no pool');
      const quoteId = hashTypedData({
        domain: { name: 'Premia', version: '1', chainId, verifyingContract: pool.poolAddress },
        primaryType: 'FillQuoteOB',
        types: QUOTE_TYPES,
        message: { provider, taker, price, size, isBuy, deadline, salt },
      });
      return { quoteId, fillableSize: size.toString(), taker };
    });
    const ids = new Set<string>();
    for (const { quoteId } of quotes) {
      if (ids.has(quoteId)) this.#violations.push(`quote ${quoteId} was published twice`);
      ids.add(quoteId);
    }
    return bookOf(
      'the chain',
      quotes.filter(({ taker }) => taker === ZERO),
    );
  }

  /** The wallet's nonces are those of its mined transactions: none waits behind a gap. */
  async #nonces(): Promise<string[]> {
    const { rpcUrl, accounts } = this.#readyNow();
    const client = createPublicClient({ transport: http(rpcUrl) });
    const address = accounts[0]?.address ?? ZERO;
    const [mined, pending] = await Promise.all([
      client.getTransactionCount({ address, blockTag: 'latest' }),
      client.getTransactionCount({ address, blockTag: 'pending' }),
    ]);
    const { queued } = await createTestClient({ mode: 'anvil', transport: http(rpcUrl) }).getTxpoolStatus();
    if (queued > 0) return [`${queued} transactions wait behind a gap of their wallet's nonces`];
    return mined === pending ? [] : [`the wallet has ${mined} mined transactions and ${pending} with those that wait`];
  }

  async #write(writer: number): Promise<void> {
    const { accounts, pools, chainId } = this.#readyNow();
    const account = accounts[1 + (writer % (accounts.length - 1))];
    const pool = pools[writer % pools.length];
    if (account === undefined || pool === undefined) throw new Error('the local chain has accounts and pools');
    for (let n = 0; !this.#isStopped; n += 1) {
      const nowMs = Date.now();
      const terms = {
        salt: nowMs * 1000 + this.#salt++,
        price: BigInt(10 ** 16 + n),
        size: 10n ** 15n,
        deadline: Math.floor(nowMs / 1000) + QUOTE_LIFE_SECONDS,
      };
      const poolKey = { ...pool.poolKey, strike: BigInt(pool.poolKey.strike) };
      const quote = await signQuote(account.privateKey, { ...pool, poolKey }, terms, chainId);
      await this.#post(quote, writer + n);
      await pause(20);
    }
  }

  /** Until it is acknowledged, at one gateway or another: posting a quote again comes to the same. */
  async #post(quote: WireQuote, turn: number): Promise<void> {
    const write = { startMs: performance.now() };
    this.#pending.add(write);
    for (let attempt = 0; !this.#isStopped; attempt += 1) {
      const { gateways } = this.#readyNow();
      const { httpUrl = '' } = gateways[(turn + attempt) % gateways.length] ?? {};
      try {
        const response = await this.#fetch(`${httpUrl}/quotes`, { method: 'POST', body: JSON.stringify([quote]) });
        if (await this.#isAcknowledged(response, write.startMs, httpUrl, turn + attempt + 1)) break;
      } catch {
        // No answer: whether it was carried out is unknown.
      }
      await pause(100);
    }
    this.#pending.delete(write);
  }

  /** False when it has to be sent again. */
  async #isAcknowledged(response: Response, startMs: number, url: string, turn: number): Promise<boolean> {
    if (!response.ok) {
      this.refused.push({ status: response.status, atMs: performance.now() });
      if (response.status === 503 && response.headers.get('retry-after') === null) {
        this.#violations.push('a 503 does not say when to try again');
      }
      return false;
    }
    const body = (await response.json()) as Readonly<Record<string, { readonly quoteId: string }[] | undefined>>;
    const [done] = [...(body.created ?? []), ...(body.exists ?? [])];
    if (done === undefined) {
      this.#violations.push(`a good quote failed: ${JSON.stringify(body.failed)}`);
      return true;
    }
    this.acknowledged.push({ quoteId: done.quoteId, startMs, endMs: performance.now() });
    await this.#readYourWrite(done.quoteId, url, response.headers.get('x-quotebook-seq'), turn);
    return true;
  }

  /** At once where it was acknowledged, and elsewhere from the event on that the answer named. */
  async #readYourWrite(quoteId: string, url: string, minSeq: string | null, turn: number): Promise<void> {
    if (minSeq === null) {
      this.#violations.push('an answer of a gateway does not say how far that has come');
      return;
    }
    const { gateways } = this.#readyNow();
    const { httpUrl: other = url } = gateways[turn % gateways.length] ?? {};
    for (const read of [
      { quoteId, gateway: url, minSeq: null },
      { quoteId, gateway: other, minSeq },
    ]) {
      // A gateway that gives no answer breaks no promise of what it shows.
      const isFound = await this.#shows(read).catch(() => null);
      if (isFound !== null) this.#reads.push({ ...read, isFound });
    }
  }

  async #shows({ quoteId, gateway, minSeq }: Omit<ReadAfterWrite, 'isFound'>): Promise<boolean> {
    const headers: Record<string, string> = minSeq === null ? {} : { 'x-min-seq': minSeq };
    const response = await this.#fetch(`${gateway}/orders?quoteIds[]=${quoteId}`, {}, headers);
    if (!response.ok) throw new Error(`GET /orders answered ${response.status}`);
    return (await response.text()).includes(quoteId);
  }

  async #followPages(reader: PageReader): Promise<void> {
    while (!this.#isStopped) {
      await this.#readPage(reader).catch(() => undefined);
      await pause(100);
    }
  }

  async #readToEnd(reader: PageReader): Promise<void> {
    while (await this.#readPage(reader)) await pause(20);
  }

  /** One page; true when it has to be read on. */
  async #readPage(reader: PageReader): Promise<boolean> {
    const { gateways, chainId } = this.#readyNow();
    const url = gateways[reader.place]?.httpUrl ?? '';
    const [epoch = await this.#epochAt(url)] = reader.epochs;
    const query = `channel=QUOTES&chainId=${chainId}&epoch=${epoch}&fromSeq=${reader.endSeq}&taker=*`;
    const response = await this.#fetch(`${url}/events?${query}`, {});
    (response.headers.get('x-stale') === null ? reader.freshMs : reader.staleMs).push(performance.now());
    if (response.status === 503 || response.status === 429) return true;
    if (!response.ok) {
      this.#violations.push(`GET /events answered ${response.status}: ${await response.text()}`);
      return false;
    }
    const page = (await response.json()) as EventsPage;
    reader.epochs.add(page.epoch);
    reader.events.push(...page.messages.map((message) => this.#seen(message, reader.endSeq)));
    reader.endSeq = page.seq;
    return page.more;
  }

  async #epochAt(url: string): Promise<string> {
    const { chainId } = this.#readyNow();
    const response = await this.#fetch(`${url}/tickers?chainId=${chainId}`, {});
    return ((await response.json()) as { readonly epoch: string }).epoch;
  }

  async #followSocket(reader: SocketReader, turn: number): Promise<void> {
    for (let attempt = turn; !this.#isStopped; attempt += 1) {
      await this.#connect(reader, attempt, () => this.#isStopped).catch(() => undefined);
      await pause(100);
    }
  }

  /** Follows from where the reader was, until `isOver`, which is looked at every now and then, or the connection ends. */
  async #connect(observer: SocketReader, turn: number, isOver: () => boolean): Promise<void> {
    const { reader } = observer;
    const { gateways, apiKey } = this.#readyNow();
    const { wsUrl = '' } = gateways[turn % gateways.length] ?? {};
    const resumes = reader.canResume;
    const client = await FeedClient.open(wsUrl, apiKey, 'quotebook.v2.json', reader);
    try {
      client.follow('QUOTES', {}, resumes);
      const ended = client.until(() => {
        this.#record(observer, client);
        return isOver();
      });
      if (resumes) observer.resumed += 1;
      await Promise.race([ended, poll(isOver)]);
    } catch (error) {
      // Its end is no fault, a gap or a wrong hash is.
      if (!(error as Error).message.startsWith('closed')) {
        this.#violations.push(`${observer.name} at ${wsUrl}: ${(error as Error).message}`);
      }
    } finally {
      client.break();
      this.#record(observer, client);
    }
  }

  #record(observer: SocketReader, client: FeedClient): void {
    const { reader } = observer;
    for (const message of client.messages.splice(0)) {
      if (message.type === 'RESYNC') {
        const what = `${observer.name} could not resume from event ${observer.endSeq}: ${message.reason}`;
        this.#violations.push(what);
      }
      if (message.type === 'INFO' && message.body !== null) {
        observer.epochs.add(message.body.epoch);
        if (observer.events.length === 0) observer.fromSeq = message.body.seq;
      }
      if (message.type === 'HEARTBEAT' && observer.epochs.size > 0) observer.completeSeq = message.seq;
      if ('prevSeq' in message) observer.events.push(this.#seen(message as EventMessage, observer.completeSeq));
    }
    if (reader.canResume) observer.endSeq = reader.seq;
  }

  /** `key` and `prevSeq` are of the filter and of where a page began, not of the event. */
  #seen(message: EventMessage, completeSeq: number): SeenEvent {
    const { seq, prevSeq, type, body } = message;
    const own = JSON.stringify({ ...message, key: undefined, prevSeq: undefined });
    const first = this.#texts.get(seq);
    if (first === undefined) this.#texts.set(seq, own);
    const text = first === own ? first : own;
    return { seq, prevSeq, completeSeq, type, quoteId: body.quoteId ?? '', text, atMs: performance.now() };
  }

  #fetch(url: string, init: RequestInit, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(url, {
      ...init,
      headers: { 'content-type': 'application/json', 'x-apikey': this.#readyNow().apiKey, ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }
}

function bookOf(source: string, quotes: Parameters<typeof quotesHash>[0]): FinalBook {
  const all = [...quotes];
  return { source, hash: quotesHash(all), quoteIds: new Set(all.map(({ quoteId }) => quoteId)) };
}

async function poll(isOver: () => boolean): Promise<void> {
  while (!isOver()) await pause(50);
}
