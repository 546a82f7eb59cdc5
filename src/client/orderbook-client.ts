import type { Hex } from 'viem';
import type { VerifyResult } from '../wire/auth.js';
import type { DryRunResult, PostedQuoteJson, PostQuotesResult } from '../wire/orderbook.js';
import type { SideText } from '../wire/primitives.js';
import type { CoverFilterMessage, FeedChannel, RfqByPoolAddressMessage, RfqByPoolKeyMessage } from '../wire/socket.js';
import type { TimerResult } from '../wire/protections.js';
import type { CancelQuotesResult } from '../wire/trading.js';
import type { RestoreQuotesResult, WithdrawalJson, WithdrawQuotesResult } from '../wire/withdrawals.js';
import type { RefusedError } from './errors.js';
import { ConnectionPool } from './connection-pool.js';
import { type ConnectionState, DEFAULT_TIMEOUTS, type ClientTimeouts, type Outcome, type Reply } from './connection.js';
import type { FeedEncoding } from './decode.js';
import type { StopListening } from './emitter.js';
import {
  CoverState,
  LevelBookState,
  QuoteEventsState,
  FollowedBook,
  FollowedCover,
  FollowedEvents,
  FollowedQuotes,
  FollowedRfqs,
  FollowedTickers,
  FollowedTrades,
  QuotesState,
  RfqState,
  TickersState,
  TradesState,
} from './followed.js';
import type { ChannelState, HeartbeatMessage, RfqStatusEvent } from './messages.js';
import type { ClientPorts } from './ports.js';
import { Pools } from './pools.js';
import { Rest } from './rest.js';
import { type QuotedPool, type QuoteSigner, type QuoteTerms, type SignedOffer, signQuote } from './sign-quote.js';
import { type ClientSession, Credentials, signIn, type SignInTerms } from './sign-in.js';
import { Subscription } from './subscription.js';

export interface OrderbookClientOptions {
  /** Of the service, such as `http://127.0.0.1:8080`. The WebSocket is on the same port. */
  readonly url: string;
  readonly apiKey: string;
  /** The settlement chain's. */
  readonly chainId: string;
  /** Of the feed. Default `json`; `msgpack` is about half the bytes. */
  readonly encoding?: FeedEncoding;
  readonly timeouts?: Partial<ClientTimeouts>;
}

/** Filter of a subscription to QUOTES or RFQ; docs/reference/api.md, "Following quotes". */
export interface QuotesFilter {
  readonly poolAddress?: Hex;
  readonly side?: SideText;
  readonly provider?: Hex;
  /** An address: its private quotes too; `*`: everybody's. */
  readonly taker?: Hex | '*';
  /** 1e-18 contracts: the least size as first signed. */
  readonly size?: bigint;
}

export interface BookFilter {
  readonly poolAddress: Hex;
  /** Levels of each side; default all that the server shows. */
  readonly depth?: number;
  /** Includes the private quotes of this taker. */
  readonly taker?: Hex;
}

/** Which trades to follow: at most one of `poolAddress` and `instrument`. */
export interface TradesFilter {
  readonly poolAddress?: Hex;
  /** Name of a deployed pool's option. */
  readonly instrument?: string;
  /** Only trades of this maker's quotes. */
  readonly provider?: Hex;
}

type WithoutChain<R> = Omit<R, 'chainId' | 'size'> & {
  /** 1e-18 contracts. */
  readonly size: bigint;
};
/** The size to cover; `side` is the book's: `ask` to buy. */
export type CoverFilter = WithoutChain<CoverFilterMessage['body']>;
/** A request for quotes; `side` is the book's: `ask` to buy. */
export type RfqRequest = WithoutChain<RfqByPoolKeyMessage['body']> | WithoutChain<RfqByPoolAddressMessage['body']>;

/** `deadline` and `salt` have defaults here. */
export type OfferTerms = Omit<QuoteTerms, 'deadline' | 'salt'> & {
  /** Unix seconds; default an hour from now by this machine's clock. */
  readonly deadline?: number;
  /** Default: larger than any before. */
  readonly salt?: number;
};

/** Everything of one Quotebook service: its routes, its feed, and the signing of quotes. */
export class BaseOrderbookClient {
  /** The HTTP routes. */
  readonly rest: Rest;
  /** Pools by name or address. */
  readonly pools: Pools;
  readonly #options: OrderbookClientOptions;
  readonly #ports: ClientPorts;
  readonly #pool: ConnectionPool;
  readonly #credentials: Credentials;
  readonly #url: string;
  #lastSalt = 0;

  constructor(options: OrderbookClientOptions, ports: ClientPorts) {
    const { chainId, encoding = 'json', timeouts = {} } = options;
    // By name instead of spreading: an option set to undefined must take its default.
    const { answerMs = DEFAULT_TIMEOUTS.answerMs, callMs = DEFAULT_TIMEOUTS.callMs } = timeouts;
    const { silenceMs = DEFAULT_TIMEOUTS.silenceMs } = timeouts;
    const { minMs = DEFAULT_TIMEOUTS.reconnect.minMs, maxMs = DEFAULT_TIMEOUTS.reconnect.maxMs } =
      timeouts.reconnect ?? {};
    const url = options.url.replace(/\/+$/, '');
    if (!isServiceUrl(url)) throw new TypeError(`Not the URL of a service: ${options.url}`);
    // Callers without types may pass an unset variable; the feed would refuse it again and again.
    if (typeof options.apiKey !== 'string') throw new TypeError('There is no API key');
    // HTTP trims header values, the feed does not: a key read from a file may end in a line end.
    this.#credentials = new Credentials(options.apiKey.trim());
    const credentials = this.#credentials;
    this.#url = url;
    this.#options = options;
    this.#ports = ports;
    this.rest = new Rest({ url, credentials, chainId, fetch: ports.fetch });
    this.pools = new Pools(this.rest, ports.clock);
    this.#pool = new ConnectionPool({
      url: url.replace(/^http/, 'ws'),
      credentials,
      encoding,
      timeouts: { answerMs, callMs, silenceMs, reconnect: { minMs, maxMs } },
      ports,
    });
  }

  /** The session that stands for the key; null: the client has not signed in, or the server has refused its token. */
  get session(): ClientSession | null {
    return this.#credentials.session;
  }

  /**
   * Proves an address (EIP-4361), so that a service with `privacy` proven shows what is private to it. From then on calls
   * and connections use the session, also after a reconnect. Rejects with ApiError.
   */
  async signIn(terms: SignInTerms): Promise<VerifyResult> {
    const calls = {
      nonce: () => this.rest.signInNonce(),
      verify: (body: Parameters<Rest['verifySignIn']>[0]) => this.rest.verifySignIn(body),
    };
    const at = { url: this.#url, chainId: this.#options.chainId, issuedAtMs: this.#ports.clock.wallMs() };
    const result = await signIn(calls, terms, at);
    const { address, token, expiresAt } = result;
    if (token !== null && expiresAt !== null) {
      this.#credentials.start({ address, token, expiresAt });
      this.#pool.reauthorize();
    }
    return result;
  }

  /**
   * Ends the session on the server, which closes its connections; they are opened again with the key. Rejects with
   * ApiError or the error of `fetch`; the client then keeps the session.
   */
  async signOut(): Promise<void> {
    const { session } = this;
    if (session === null) return;
    await this.rest.endSession();
    this.#credentials.drop(session.token);
  }

  /**
   * Opens a connection to the feed, which stays open, and resolves when it is authorised. Optional: what is followed or
   * asked opens its own. Rejects with RefusedError if the key is refused, and after `answerMs` with `refusal`, or with
   * ConnectionLostError where that is null.
   */
  connect(): Promise<void> {
    return this.#pool.connect();
  }

  /** The worst state of the feed's connections; `CLOSED` while there is no connection. */
  get connection(): ConnectionState {
    return this.#pool.state;
  }

  /** Unix milliseconds at which a lost connection is tried again; null: none is lost. */
  get nextAttemptMs(): number | null {
    return this.#pool.nextAttemptMs;
  }

  /**
   * Why the server refuses a connection that is `WAITING`, such as `too_many_connections` or `rate_limited`; null: it
   * refuses none. The client tries again after its `retryAfterMs`.
   */
  get refusal(): RefusedError | null {
    return this.#pool.refusal;
  }

  onConnection(listener: (state: ConnectionState) => void): StopListening {
    return this.#pool.states.add(listener);
  }

  /** The state of `connection`, now and after each change, until the client is closed. A slow reader gets the newest. */
  async *status(): AsyncGenerator<ConnectionState, void, void> {
    let wake = (): void => undefined;
    const stopListening = this.onConnection(() => wake());
    void this.closed.then(() => wake());
    try {
      for (let last: ConnectionState | null = null; ;) {
        const state = this.connection;
        if (state !== last) yield (last = state);
        else if (this.#pool.isClosed) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      stopListening();
    }
  }

  /** Heartbeats arrive every few seconds while a channel is followed, with the state of both chains. */
  onHeartbeat(listener: (heartbeat: HeartbeatMessage) => void): StopListening {
    return this.#pool.heartbeats.add(listener);
  }

  /** Keeps one pool's price levels. Each followed book but the first takes a connection of its own. */
  followBook(filter: BookFilter): FollowedBook {
    const contents = new LevelBookState();
    const [subscription, close] = this.#follow('ORDERBOOK', filter, contents);
    return new FollowedBook(contents, subscription, close);
  }

  /** Keeps every quote that matches the filter, and reports each event of them. */
  followQuotes(filter: QuotesFilter = {}): FollowedQuotes {
    const contents = new QuotesState();
    const [subscription, close] = this.#follow('QUOTES', onWire(filter), contents);
    return new FollowedQuotes(contents, subscription, close);
  }

  /** Reports the events of quotes from now on, and keeps no quotes. Beside `followQuotes` it takes a second connection. */
  followEvents(filter: QuotesFilter = {}): FollowedEvents {
    const contents = new QuoteEventsState();
    const [subscription, close] = this.#follow('QUOTES', onWire(filter), contents);
    const setTaker = (taker: Hex | '*' | null): void =>
      subscription.replaceFilter(this.#ofChain({ ...onWire(filter), taker: taker ?? undefined }));
    return new FollowedEvents(contents, subscription, close, setTaker);
  }

  /** Keeps every pool's best prices, or one pool's. */
  followTickers(filter: { readonly poolAddress?: Hex } = {}): FollowedTickers {
    const contents = new TickersState();
    const [subscription, close] = this.#follow('TICKER', filter, contents);
    return new FollowedTickers(contents, subscription, close);
  }

  /** Keeps the quotes that cover a size best. */
  followCover({ size, ...filter }: CoverFilter): FollowedCover {
    const contents = new CoverState();
    const [subscription, close] = this.#follow('COVER', { ...filter, size: size.toString() }, contents);
    return new FollowedCover(contents, subscription, close);
  }

  /** Reports fills on the settlement chain from now on, of every pool or of one. */
  followTrades(filter: TradesFilter = {}): FollowedTrades {
    const contents = new TradesState();
    const [subscription, close] = this.#follow('TRADES', filter, contents);
    return new FollowedTrades(contents, subscription, close);
  }

  /** Reports takers' requests for quotes. */
  followRfqs(filter: QuotesFilter = {}): FollowedRfqs {
    const contents = new RfqState();
    const [subscription, close] = this.#follow('RFQ', onWire(filter), contents);
    const setProvider = (provider: Hex | null): void =>
      subscription.replaceFilter(this.#ofChain({ ...onWire(filter), provider: provider ?? undefined }));
    return new FollowedRfqs(contents, subscription, close, setProvider);
  }

  /**
   * How the key's own requests stand, also those of `rest.openRfq`. Each open connection reports it: a request without
   * any is in `rest.rfqs` alone.
   */
  onRfqStatus(listener: (status: RfqStatusEvent) => void): StopListening {
    return this.#pool.rfqStatuses.add(listener);
  }

  /**
   * Asks makers for quotes, and resolves once the request is on the server's disk. Rejects with RefusedError, or with
   * ConnectionLostError when it is not known whether it was published, or no connection came in `timeouts.answerMs`.
   */
  requestQuotes(request: RfqRequest): Promise<void> {
    const body = { ...request, size: request.size.toString(), chainId: this.#options.chainId };
    return new Promise((resolve, reject) => {
      this.#pool.ask({ type: 'RFQ', body }, (outcome) => {
        if (outcome.ok) resolve();
        else reject(outcome.error);
      });
    });
  }

  /**
   * As `rest.postQuotes`, over a connection of the feed: about twenty quotes, since a message has at most 16 KiB. Rejects
   * with RefusedError, whose `details` have `pending` where the publication is not confirmed yet; or with
   * ConnectionLostError, after which the quotes may be published: posting them again is safe.
   */
  postQuotes(quotes: readonly PostedQuoteJson[]): Promise<PostQuotesResult> {
    return this.#call({ type: 'POST_QUOTES', body: quotes });
  }

  /** As `rest.checkQuotes`, over a connection of the feed. Rejects with RefusedError or ConnectionLostError. */
  checkQuotes(quotes: readonly PostedQuoteJson[]): Promise<DryRunResult> {
    return this.#call({ type: 'POST_QUOTES', dryRun: true, body: quotes });
  }

  /**
   * Cancels quotes of the operator on chain; the key needs the scope operator. Rejects with RefusedError, or with
   * ConnectionLostError, after which they may be cancelled.
   */
  cancelQuotes(quoteIds: readonly Hex[]): Promise<CancelQuotesResult> {
    return this.#call({ type: 'CANCEL_QUOTES', body: { quoteIds } });
  }

  /**
   * As `rest.withdrawQuotes`, over a connection of the feed: about 200 ids, since a message has at most 16 KiB. Rejects
   * with RefusedError, or with ConnectionLostError, after which the quotes may be withdrawn.
   */
  withdrawQuotes(signed: WithdrawalJson): Promise<WithdrawQuotesResult> {
    return this.#call({ type: 'WITHDRAW_QUOTES', body: signed });
  }

  /** As `rest.restoreQuotes`, over a connection of the feed. Limits and rejections are those of `withdrawQuotes`. */
  restoreQuotes(signed: WithdrawalJson): Promise<RestoreQuotesResult> {
    return this.#call({ type: 'RESTORE_QUOTES', body: signed });
  }

  /**
   * As `rest.heartbeat`, over a connection of the feed. Rejects with RefusedError, or with ConnectionLostError, after
   * which the timer may be set.
   */
  heartbeat(provider: Hex, timeoutSeconds: number): Promise<TimerResult> {
    return this.#call({
      type: 'PROVIDER_HEARTBEAT',
      body: { chainId: this.#options.chainId, provider, timeoutSeconds },
    });
  }

  /**
   * All quotes of the provider are withdrawn once each connection of the key that sent this has been closed for
   * `graceSeconds`: 2 to 3,600, or 0, which turns it off. The connection stays open until the client is closed; ask again
   * after a reconnection. Rejects as `heartbeat` does.
   */
  cancelOnDisconnect(provider: Hex, graceSeconds: number): Promise<TimerResult> {
    const body = { chainId: this.#options.chainId, provider, graceSeconds };
    return this.#call({ type: 'CANCEL_ON_DISCONNECT', body }, true);
  }

  /**
   * Signs a quote; `rest.postQuotes([signed.posted])` publishes it. Rejects with the signer's own error, or with TypeError
   * where what it gave is no signature of 65 bytes.
   */
  signQuote(signer: QuoteSigner, pool: QuotedPool, terms: OfferTerms): Promise<SignedOffer> {
    const nowMs = this.#ports.clock.wallMs();
    this.#lastSalt = Math.max(this.#lastSalt + 1, Math.floor(nowMs) * SALTS_PER_MS);
    // By name, as the options above.
    const { deadline = Math.floor(nowMs / 1000) + DEFAULT_LIFE_SECONDS, salt = this.#lastSalt } = terms;
    return signQuote(signer, this.#options.chainId, pool, { ...terms, deadline, salt });
  }

  /** Takes no more calls, waits for the answers to those under way, then closes. */
  drain(): Promise<void> {
    return this.#pool.drain();
  }

  /** Resolves when the client has been closed. */
  get closed(): Promise<void> {
    return this.#pool.closed;
  }

  /** Closes all subscriptions for good: a later one is `CLOSED` from the start. */
  close(): void {
    this.#pool.close();
  }

  #call<R>(message: object, keepsConnection = false): Promise<R> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome<Reply>): void => {
        // The server's documents say which result answers which call.
        if (outcome.ok) resolve(outcome.answer.result as R);
        else reject(outcome.error);
      };
      this.#pool.ask(message, settle, { isCall: true, keepsConnection });
    });
  }

  #follow(channel: FeedChannel, filter: object, content: ChannelState): [Subscription, () => void] {
    const subscription = new Subscription(channel, this.#ofChain(filter), content);
    this.#pool.attach(subscription);
    return [subscription, () => this.#pool.detach(subscription)];
  }

  #ofChain(filter: object): object {
    return { chainId: this.#options.chainId, ...filter };
  }
}

const DEFAULT_LIFE_SECONDS = 3600;
/** Distinct salts per millisecond of one client; salts stay below 2^53 until the year 2255. */
const SALTS_PER_MS = 1000;

/** No fragment (RFC 6455, section 3), and no query, since paths are appended. */
function isServiceUrl(text: string): boolean {
  return /^https?:\/\/[^?#]+$/.test(text) && URL.canParse(text);
}

function onWire({ size, ...filter }: QuotesFilter): object {
  return { ...filter, ...(size !== undefined && { size: size.toString() }) };
}
