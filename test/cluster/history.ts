import { setTimeout as pause } from 'node:timers/promises';
import { type WireQuote, signQuote } from '../e2e/maker.js';
import type { ClusterReady } from './cluster-process.js';

/** A write that the service acknowledged to a client. */
interface Acknowledged {
  readonly quoteId: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** One gateway's feed as a client read it: each event by its number. */
interface Observer {
  readonly url: string;
  readonly events: Map<number, string>;
  epoch: string | null;
  seq: number;
  /** Answers that said that something may be stale, with when. */
  readonly staleMs: number[];
}

interface EventsPage {
  readonly epoch: string;
  readonly seq: number;
  readonly more: boolean;
  readonly messages: readonly { readonly seq?: number }[];
}

const TIMEOUT_MS = 30_000;
const MAX_SHOWN = 20;

/**
 * Clients of a cluster that record every answer and push, as Jepsen's do: acknowledged writes, the events of each
 * gateway, and reads after writes. The history alone shows afterwards whether a promise was broken.
 */
export class History {
  readonly acknowledged: Acknowledged[] = [];
  readonly refused: { readonly status: number; readonly atMs: number }[] = [];
  /** Promises that were broken, in words. */
  readonly violations: string[] = [];
  readonly observers: Observer[];
  readonly #readyNow: () => ClusterReady;
  readonly #running: Promise<void>[] = [];
  #isStopped = false;
  #salt = 1;

  /** `readyNow`: a gateway that was started again may have another port. */
  constructor(readyNow: () => ClusterReady) {
    this.#readyNow = readyNow;
    this.observers = readyNow().gateways.map((_, place) => ({
      get url() {
        return readyNow().gateways[place]?.httpUrl ?? '';
      },
      events: new Map(),
      epoch: null,
      seq: 0,
      staleMs: [],
    }));
  }

  get #ready(): ClusterReady {
    return this.#readyNow();
  }

  start(writers: number): void {
    for (let writer = 0; writer < writers; writer += 1) this.#running.push(this.#write(writer));
    for (const observer of this.observers) this.#running.push(this.#observe(observer));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** When a write that was sent after `afterMs` was first acknowledged. */
  async acknowledgedAfter(afterMs: number): Promise<number> {
    for (;;) {
      const first = this.acknowledged.find(({ startMs, endMs }) => startMs >= afterMs || endMs >= afterMs + 500);
      if (first !== undefined) return first.endMs - afterMs;
      await pause(20);
    }
  }

  /** Checks what can be checked when all is over. `read` of every acknowledged quote at every gateway. */
  async check(): Promise<readonly string[]> {
    const [first, ...others] = this.observers;
    if (first === undefined) return ['there was no observer'];
    await Promise.all(this.observers.map((observer) => this.#readToEnd(observer)));
    for (const other of others) {
      if (other.epoch !== first.epoch) this.violations.push('the gateways tell of two logs');
      if (other.seq !== first.seq)
        this.violations.push(`one gateway ends with event ${first.seq}, one with ${other.seq}`);
      for (const [seq, text] of first.events) {
        const seen = other.events.get(seq);
        if (seen !== text) this.violations.push(`event ${seq} is ${text} at one gateway and ${seen} at another`);
      }
      if (other.events.size !== first.events.size) this.violations.push('a gateway gave events that another did not');
    }
    const told = [...first.events.values()].join('\n');
    for (const { quoteId } of this.acknowledged) {
      if (!told.includes(quoteId)) this.violations.push(`quote ${quoteId} was acknowledged, and no event tells of it`);
    }
    for (const { url } of this.observers) {
      for (let at = 0; at < this.acknowledged.length; at += 30) {
        const ids = this.acknowledged.slice(at, at + 30).map(({ quoteId }) => quoteId);
        const missing = await this.#missing(url, ids, null);
        for (const id of missing) this.violations.push(`quote ${id} was acknowledged, and ${url} does not have it`);
      }
    }
    // One broken promise is often seen a thousand times.
    return [...new Set(this.violations)].slice(0, MAX_SHOWN);
  }

  async #write(writer: number): Promise<void> {
    const { accounts, pools, chainId } = this.#ready;
    const account = accounts[1 + (writer % (accounts.length - 1))];
    const pool = pools[writer % pools.length];
    if (account === undefined || pool === undefined) throw new Error('the local chain has accounts and pools');
    for (let n = 0; !this.#isStopped; n += 1) {
      const terms = { salt: Date.now() * 1000 + this.#salt++, price: BigInt(10 ** 16 + n), size: 10n ** 15n };
      const poolKey = { ...pool.poolKey, strike: BigInt(pool.poolKey.strike) };
      const quote = await signQuote(account.privateKey, { ...pool, poolKey }, terms, chainId);
      await this.#post(quote, writer + n);
      await pause(20);
    }
  }

  /** Until it is acknowledged, at one gateway or another: posting a quote again comes to the same. */
  async #post(quote: WireQuote, turn: number): Promise<void> {
    const { gateways } = this.#ready;
    const startMs = Date.now();
    for (let attempt = 0; !this.#isStopped; attempt += 1) {
      const { httpUrl = '' } = gateways[(turn + attempt) % gateways.length] ?? {};
      try {
        const response = await this.#fetch(`${httpUrl}/quotes`, { method: 'POST', body: JSON.stringify([quote]) });
        const body = (await response.json()) as {
          created?: { quoteId: string }[];
          exists?: { quoteId: string }[];
          failed?: unknown[];
        };
        if (!response.ok) {
          this.refused.push({ status: response.status, atMs: Date.now() });
          if (response.status === 503 && response.headers.get('retry-after') === null) {
            this.violations.push('a 503 does not say when to try again');
          }
        } else {
          const [done] = [...(body.created ?? []), ...(body.exists ?? [])];
          if (done === undefined) {
            this.violations.push(`a good quote failed: ${JSON.stringify(body.failed)}`);
            return;
          }
          this.acknowledged.push({ quoteId: done.quoteId, startMs, endMs: Date.now() });
          await this.#readYourWrite(done.quoteId, httpUrl, response.headers.get('x-quotebook-seq'), turn + attempt + 1);
          return;
        }
      } catch {
        // No answer: it is not known what became of it.
      }
      await pause(100);
    }
  }

  /** At once where it was written, and elsewhere from the event on that the answer named. */
  async #readYourWrite(quoteId: string, url: string, seq: string | null, turn: number): Promise<void> {
    if (seq === null) {
      this.violations.push('an answer of a gateway does not say how far that has come');
      return;
    }
    const { gateways } = this.#ready;
    const { httpUrl: other = url } = gateways[turn % gateways.length] ?? {};
    const atOnce = await this.#missing(url, [quoteId], null).catch(() => []);
    if (atOnce.length > 0) this.violations.push(`quote ${quoteId} was not where it had just been written`);
    const later = await this.#missing(other, [quoteId], seq).catch(() => []);
    if (later.length > 0) this.violations.push(`quote ${quoteId} was not at another gateway that has event ${seq}`);
  }

  async #missing(url: string, ids: readonly string[], minSeq: string | null): Promise<string[]> {
    const query = ids.map((id) => `quoteIds[]=${id}`).join('&');
    const response = await this.#fetch(`${url}/orders?${query}`, {}, minSeq === null ? {} : { 'x-min-seq': minSeq });
    if (!response.ok) throw new Error(`GET /orders answered ${response.status}`);
    const text = await response.text();
    return ids.filter((id) => !text.includes(id));
  }

  async #observe(observer: Observer): Promise<void> {
    while (!this.#isStopped) {
      await this.#read(observer).catch(() => undefined);
      await pause(100);
    }
  }

  async #readToEnd(observer: Observer): Promise<void> {
    for (;;) {
      const before = observer.seq;
      if (!(await this.#read(observer)) && observer.seq === before) return;
    }
  }

  /** One page; true when the present is further on. */
  async #read(observer: Observer): Promise<boolean> {
    const epoch = observer.epoch ?? (await this.#epochOf(observer));
    const query = `channel=QUOTES&chainId=${this.#ready.chainId}&epoch=${epoch}&fromSeq=${observer.seq}&taker=*`;
    const response = await this.#fetch(`${observer.url}/events?${query}`, {});
    if (response.headers.get('x-stale') !== null) observer.staleMs.push(Date.now());
    if (response.status === 503 || response.status === 429) return true;
    if (!response.ok) {
      this.violations.push(`GET /events answered ${response.status}: ${await response.text()}`);
      return false;
    }
    const page = (await response.json()) as EventsPage;
    if (observer.epoch !== null && page.epoch !== observer.epoch) this.violations.push('the log changed its name');
    observer.epoch = page.epoch;
    for (const message of page.messages) {
      const seq = Number(message.seq);
      const text = JSON.stringify(message);
      const before = observer.events.get(seq);
      if (seq <= observer.seq && before !== text) this.violations.push(`event ${seq} came late, or changed`);
      observer.events.set(seq, text);
    }
    if (page.seq < observer.seq)
      this.violations.push(`${observer.url} went back from event ${observer.seq} to ${page.seq}`);
    observer.seq = page.seq;
    return page.more;
  }

  async #epochOf(observer: Observer): Promise<string> {
    const response = await this.#fetch(`${observer.url}/tickers?chainId=${this.#ready.chainId}`, {});
    return ((await response.json()) as { readonly epoch: string }).epoch;
  }

  #fetch(url: string, init: RequestInit, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(url, {
      ...init,
      headers: { 'content-type': 'application/json', 'x-apikey': this.#ready.apiKey, ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }
}
