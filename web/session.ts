import {
  ApiError,
  type Hex,
  OrderbookClient,
  type FollowedBook,
  type FollowedEvents,
  type FollowedRfqs,
  type FollowedTickers,
  type OrderbookClientOptions,
  type Pool,
} from 'quotebook/client';
import { AccountView } from './account-view.js';
import { contracts } from './amounts.js';
import { ChainView } from './chain-view.js';
import { DepthView } from './depth-view.js';
import { Display, timeText } from './display.js';
import { byId, setText } from './elements.js';
import { HistoryView } from './history-view.js';
import { InboxView } from './inbox-view.js';
import { LadderView } from './ladder-view.js';
import { Market } from './market.js';
import { Notices } from './notices.js';
import { nameOf, premiumToken } from './option.js';
import { OwnQuotes } from './own-quotes.js';
import { PriceSteps } from './price-steps.js';
import { QuoteView, type RequestedQuote } from './quote-view.js';
import { coalesced, throttled } from './redraw.js';
import { RfqView } from './rfq-view.js';
import { ServerClock } from './server-clock.js';
import { Shortcuts } from './shortcuts.js';
import { StatusView } from './status-view.js';
import { TAPE_ROWS, TapeView } from './tape-view.js';
import { TicketView } from './ticket-view.js';
import { TradesView } from './trades-view.js';
import type { Wallet } from './wallet.js';

/** How often pools are listed anew: new ones are deployed, old ones expire. */
const LIST_EVERY_MS = 30_000;
/** Trades that are looked through for each option's last price. */
const LAST_TRADES = 500;
/** A reorg takes back many fills at once, and brings most of them again. */
const LAST_TRADES_AFTER_MS = 400;
/** How often the server is asked for estimates: it reads prices from the oracle at most so often. */
const VALUE_EVERY_MS = 5_000;
/** Levels of each side that are followed: grouped by price they fill the ladder and the chart. */
const DEPTH = 150;

interface Deployment {
  readonly chainId: OrderbookClientOptions['chainId'];
  /** The contract that takes collateral from makers and takers. */
  readonly router: Hex;
  /** The server shows what is private to an address to those alone who have signed in with it. */
  readonly asksForProof: boolean;
}

interface SessionParts {
  readonly onRefusedKey: (why: string) => void;
  /** The user wants to trade, and has no wallet connected. */
  readonly onNeedsWallet: () => void;
  /** The wallet no longer acts on this page. */
  readonly onLostWallet: (why: string) => void;
}

/** The views, and what they show: one client at a time, whose key may change. */
export class Session {
  readonly #market = new Market();
  readonly #clock = new ServerClock();
  readonly #ownQuotes = new OwnQuotes(this.#clock);
  readonly #display = new Display(() => this.redraw());
  readonly #chain = new ChainView(this.#market, (pool) => {
    this.#choose(pool);
    this.#display.show('book');
  });
  readonly #steps = new PriceSteps(() => this.#drawBook());
  readonly #ladder = new LadderView();
  readonly #depth = new DepthView();
  readonly #tape = new TapeView(this.#market);
  readonly #notices = new Notices(this.#market);
  readonly #status = new StatusView();
  readonly #rfqs = new RfqView(this.#market, {
    clock: this.#clock,
    onNeedsWallet: () => this.#parts.onNeedsWallet(),
    onTraded: () => this.#account.transacted(),
    onExpired: (what) => this.#notices.say(`Your request to ${what} has expired. Ask again for new offers.`),
  });
  readonly #ticket = new TicketView({
    usdText: (pool, premium) => this.#market.usdText(pool, premium),
    onNeedsWallet: () => this.#parts.onNeedsWallet(),
    onTraded: () => this.#account.transacted(),
    askMakers: (leg, taker) => this.#rfqs.ask([leg], taker),
  });
  readonly #account: AccountView;
  readonly #inbox = new InboxView({
    market: this.#market,
    clock: this.#clock,
    ownQuotes: this.#ownQuotes,
    onNeedsWallet: () => this.#parts.onNeedsWallet(),
    onEdit: (address, request) => this.#answer(address, request),
    onPlaced: () => void this.#account.refresh(),
  });
  readonly #quote: QuoteView;
  readonly #trades: TradesView;
  #wallet: Wallet | null = null;
  readonly #deployment: Deployment;
  readonly #parts: SessionParts;
  readonly #drawMarket = coalesced(() => {
    this.#chain.draw();
    this.#tape.draw();
    if (this.#pool === null) return;
    const past = this.#history.book;
    if (past !== null) {
      return void setText(byId('pool-unit'), `as it was at ${timeText(past.tsMs)}, not live`);
    }
    const filled = contracts(this.#market.filledIn24Hours(this.#pool));
    setText(byId('pool-unit'), `in ${premiumToken(this.#pool)}; ${filled} filled in 24 h`);
  });
  readonly #drawBook = coalesced(() => {
    if (this.#pool === null || this.#book === null) return;
    const [pool, past] = [this.#pool, this.#history.book];
    const exact = past ?? this.#book.book;
    const shown = this.#steps.shown(pool, exact);
    // Of the past the price of the token is not known.
    this.#ladder.draw(pool, exact, shown, (premium) => (past === null ? this.#market.usdText(pool, premium) : ''));
    this.#depth.draw(pool, exact, shown);
  });
  readonly #history = new HistoryView(this.#clock, () => {
    this.#drawBook();
    this.#drawMarket();
  });
  readonly #readLastTradesSoon = throttled(() => {
    if (this.#client === null) return;
    this.#readLastTrades(this.#client).catch((error: unknown) => console.warn('reading the trades failed', error));
  }, LAST_TRADES_AFTER_MS);
  #client: OrderbookClient | null = null;
  #pool: Pool | null = null;
  #book: FollowedBook | null = null;
  #events: FollowedEvents | null = null;
  #requests: FollowedRfqs | null = null;
  #listTimer: ReturnType<typeof setInterval> | undefined;
  #valueTimer: ReturnType<typeof setInterval> | undefined;
  /** Pools with messages that were not in the last list. */
  readonly #soughtPools = new Set<string>();
  #isSeeking = false;

  constructor(deployment: Deployment, parts: SessionParts) {
    this.#deployment = deployment;
    this.#parts = parts;
    new Shortcuts((tab) => this.#display.show(tab));
    const { chainId, router } = deployment;
    this.#account = new AccountView({
      market: this.#market,
      clock: this.#clock,
      ownQuotes: this.#ownQuotes,
      chainId,
      router,
    });
    this.#trades = new TradesView(this.#market, deployment.chainId);
    this.#quote = new QuoteView({
      clock: this.#clock,
      ownQuotes: this.#ownQuotes,
      poolKey: (pool) => this.#market.poolKey(pool),
      router: deployment.router,
      onNeedsWallet: () => this.#parts.onNeedsWallet(),
      onPlaced: () => void this.#account.refresh(),
    });
    addEventListener('hashchange', () => {
      const pool = this.#namedPool();
      if (pool !== undefined) this.#choose(pool);
    });
  }

  /** Shows everything through this key. */
  async open(apiKey: string): Promise<void> {
    this.#end();
    if (this.#wallet !== null && this.#deployment.asksForProof) {
      this.#loseWallet('Another key needs another sign-in. Connect the wallet again.');
    }
    const client = new OrderbookClient({ url: location.origin, apiKey, chainId: this.#deployment.chainId });
    this.#client = client;
    client.onConnection((state) => {
      this.#status.showConnection(state, () => client.nextAttemptMs);
      if (state === 'UNAUTHORIZED') this.#refuse();
      else if (this.#hasLostProof(client)) this.#loseWallet('The sign-in has ended. Connect the wallet again.');
    });
    client.onHeartbeat(({ chains, seq, books, serverTimeMs }) => {
      this.#clock.hear(serverTimeMs);
      const canPublish = this.#status.showChains(chains);
      this.#quote.allow(canPublish);
      this.#inbox.allow(canPublish);
      // The client compares the hashes next: a book that differs leaves LIVE.
      this.#status.showFeed(seq, books.length > 0 ? this.#book?.state === 'LIVE' : null);
    });
    if (!(await this.#list(client))) return;
    await this.#beginTape(client);
    if (client !== this.#client) return;
    this.#follow(client);
    this.#account.open(client, this.#wallet);
    void this.#value(client);
    this.#valueTimer = setInterval(() => void this.#value(client), VALUE_EVERY_MS);
    this.#listTimer = setInterval(() => {
      this.#soughtPools.clear();
      void this.#list(client);
    }, LIST_EVERY_MS);
    this.#chooseFirst();
  }

  /** Writes everything anew, such as times in another zone. */
  redraw(): void {
    this.#drawMarket();
    this.#openTrading();
    void this.#account.refresh();
  }

  /**
   * From now on this wallet trades; null: none does. Rejects when the server asks for proof of its address and the
   * wallet does not sign in.
   */
  async act(wallet: Wallet | null): Promise<void> {
    const client = this.#client;
    if (client !== null && this.#deployment.asksForProof) {
      // What is followed for the address before ends before its proof does.
      this.#use(null);
      await client.signOut();
      if (wallet !== null) {
        await client.signIn({ address: wallet.address, signMessage: (message) => wallet.signMessage(message) });
      }
    }
    this.#use(wallet);
  }

  #use(wallet: Wallet | null): void {
    if (wallet?.address === this.#wallet?.address) return;
    this.#wallet = wallet;
    if (this.#client === null) return;
    this.#followEvents(this.#client);
    this.#followRequests(this.#client);
    if (this.#pool !== null) this.#followBook(this.#client, this.#pool);
    this.#openTrading();
    this.#account.open(this.#client, wallet);
  }

  /** The server has ended the session that proved the wallet's address. */
  #hasLostProof({ session }: OrderbookClient): boolean {
    return this.#deployment.asksForProof && this.#wallet !== null && session === null;
  }

  #loseWallet(why: string): void {
    this.#use(null);
    this.#parts.onLostWallet(why);
  }

  /** Of whom private quotes are shown beside the public ones. */
  get #taker(): { readonly taker?: Hex } {
    return this.#wallet === null ? {} : { taker: this.#wallet.address };
  }

  #openTrading(): void {
    if (this.#client === null || this.#pool === null) return;
    this.#ticket.open(this.#client, this.#pool, this.#wallet);
    this.#quote.open(this.#client, this.#pool, this.#wallet);
    this.#rfqs.open(this.#client, this.#pool, this.#wallet);
    this.#inbox.open(this.#client, this.#wallet);
    this.#trades.open(this.#client, this.#pool, this.#wallet);
  }

  #answer(poolAddress: string, request: RequestedQuote): void {
    const pool = this.#market.pool(poolAddress);
    if (pool === undefined) return;
    this.#choose(pool);
    this.#display.show('trade');
    this.#quote.answer(request);
  }

  #end(): void {
    clearInterval(this.#listTimer);
    clearInterval(this.#valueTimer);
    this.#client?.close();
    this.#client = null;
    this.#book = null;
    this.#events = null;
    this.#requests = null;
  }

  #refuse(): void {
    this.#end();
    this.#parts.onRefusedKey('The server does not know this key.');
  }

  /** False when there is nothing to go on with: the key is refused, or another client has taken this one's place. */
  async #list(client: OrderbookClient): Promise<boolean> {
    try {
      const pools = await client.rest.pools();
      if (client !== this.#client) return false;
      this.#market.list(pools);
      // The list that the page began with had none, or did not come.
      if (this.#pool === null && this.#market.tickers !== null) this.#chooseFirst();
      this.#drawMarket();
    } catch (error) {
      if (client !== this.#client) return false;
      if (error instanceof ApiError && error.status === 401) {
        this.#refuse();
        return false;
      }
      // The list is asked for again; the feed has its own way to come back.
      console.warn('listing the pools failed', error);
    }
    return true;
  }

  async #value(client: OrderbookClient): Promise<void> {
    try {
      const { tickers } = await client.rest.valuedTickers();
      if (client !== this.#client) return;
      if (this.#market.value(tickers)) {
        this.#ticket.redraw();
        this.#rfqs.redraw();
        this.#trades.redraw();
        void this.#account.refresh();
      }
      this.#drawMarket();
      this.#drawBook();
    } catch (error) {
      // Estimates stay as they are until the next answer.
      console.warn('reading the estimates failed', error);
    }
  }

  /** What is in the book already stands for what happened before the page was open. */
  async #beginTape(client: OrderbookClient): Promise<void> {
    try {
      const { validQuotes } = await client.rest.orders({ limit: String(TAPE_ROWS) });
      if (!(await this.#readLastTrades(client))) return;
      this.#tape.begin(validQuotes);
    } catch (error) {
      console.warn('reading the newest orders failed', error);
    }
  }

  /** False: another client has taken this one's place. */
  async #readLastTrades(client: OrderbookClient): Promise<boolean> {
    const { trades } = await client.rest.trades({ limit: LAST_TRADES });
    if (client !== this.#client) return false;
    this.#market.trades(trades);
    this.#drawMarket();
    return true;
  }

  #follow(client: OrderbookClient): void {
    const tickers = client.followTickers();
    busyUntilLive(byId('chain'), tickers);
    this.#market.tickers = tickers;
    tickers.onSnapshot(this.#drawMarket);
    tickers.onTicker(this.#drawMarket);
    this.#followEvents(client);
    this.#followRequests(client);
  }

  /**
   * Requests for every maker, and those that name the wallet's address among their makers. They go on for another wallet
   * over the same connection, so that no request is missed meanwhile.
   */
  #followRequests(client: OrderbookClient): void {
    const address = this.#wallet?.address ?? null;
    if (this.#requests !== null && this.#requests.state !== 'REFUSED') return this.#requests.setProvider(address);
    const rfqs = client.followRfqs(address === null ? {} : { provider: address });
    this.#requests = rfqs;
    rfqs.onRfq((rfq) => {
      this.#tape.addRfq(rfq);
      const requested = this.#market.requestedPool(rfq.body);
      if (requested !== undefined && this.#account.quotesIn(requested)) this.#notices.heardRfq(rfq.body, requested);
      this.#inbox.heard(rfq);
      this.#drawMarket();
    });
    rfqs.onUpdate((update) => this.#inbox.heardUpdate(update));
    rfqs.onState((state) => this.#inbox.showRefused(state === 'REFUSED'));
  }

  /** They go on for another wallet as requests do. */
  #followEvents(client: OrderbookClient): void {
    if (this.#events !== null && this.#events.state !== 'REFUSED') {
      return this.#events.setTaker(this.#wallet?.address ?? null);
    }
    this.#events = client.followEvents(this.#taker);
    // What was missed shows in no event, also where the feed begins anew after the connection was lost.
    const revise = (): void => {
      this.#reviseTrades();
      void this.#account.refresh();
    };
    let wasLive = false;
    this.#events.onResync(revise);
    this.#events.onState((state) => {
      if (state !== 'LIVE') return;
      if (wasLive) revise();
      wasLive = true;
    });
    this.#events.onEvent((event) => {
      this.#tape.addEvent(event);
      this.#status.heard(event.tsMs);
      if (event.type === 'FILL_QUOTE') {
        this.#trades.heardFill();
        this.#market.trade(event.body.poolAddress, BigInt(event.body.price));
      }
      // A fill may be among what a reorg took back.
      if (event.type === 'UNDO_QUOTE') this.#reviseTrades();
      this.#account.heard(event);
      if (this.#wallet !== null) this.#notices.heard(event, this.#wallet.address);
      this.#rfqs.heard(event.body.poolAddress);
      this.#seek(event.body.poolAddress, client);
      this.#drawMarket();
    });
  }

  #reviseTrades(): void {
    this.#trades.heardFill();
    this.#readLastTradesSoon();
  }

  /** One that is not listed may be by now, or never: each is sought once between two listings, and one at a time. */
  #seek(poolAddress: string, client: OrderbookClient): void {
    if (this.#market.pool(poolAddress) !== undefined || this.#soughtPools.has(poolAddress)) return;
    this.#soughtPools.add(poolAddress);
    if (this.#isSeeking) return;
    this.#isSeeking = true;
    void this.#list(client).finally(() => (this.#isSeeking = false));
  }

  /** The one that the page's address names, else the first call, else the first of all. */
  #chooseFirst(): void {
    const { pools } = this.#market;
    const pool = this.#namedPool() ?? pools.find(({ type }) => type === 'C') ?? pools[0];
    if (pool !== undefined) this.#choose(pool);
  }

  #namedPool(): Pool | undefined {
    return this.#market.pool(location.hash.slice(1).toLowerCase());
  }

  #choose(pool: Pool): void {
    if (this.#client === null) return;
    this.#pool = pool;
    history.replaceState(null, '', `#${pool.poolAddress}`);
    this.#chain.choose(pool);
    setText(byId('pool-title'), nameOf(pool));
    this.#history.open(this.#client, pool);
    this.#followBook(this.#client, pool);
    this.#openTrading();
    this.#drawMarket();
  }

  #followBook(client: OrderbookClient, { poolAddress }: Pool): void {
    this.#book?.close();
    const book = client.followBook({ poolAddress, depth: DEPTH, ...this.#taker });
    this.#book = book;
    busyUntilLive(byId('pool'), book);
    this.#status.uncheck();
    book.onState((state) => {
      if (book === this.#book && state !== 'LIVE') this.#status.uncheck();
    });
    book.onChange(this.#drawBook);
    this.#drawBook();
  }
}

/** What is shown is old while it is not live. */
function busyUntilLive(element: HTMLElement, followed: FollowedBook | FollowedTickers): void {
  const show = (): void => element.setAttribute('aria-busy', String(followed.state !== 'LIVE'));
  followed.onState(show);
  show();
}
