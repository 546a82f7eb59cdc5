import type { BookPort } from '../chain/follow/book-port.js';
import type { IdentifiedQuote } from '../chain/contracts/quote-types.js';
import type { PublicationWatch } from '../chain/publish/publisher.js';
import { isAccepted, type QuoteValidation } from '../chain/publish/quote-validation.js';
import type { Hex } from '../engine/quote.js';
import type { QuotePublishing } from '../http/publish-route.js';
import type { Caller, Route } from '../http/router.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { CommittedRecords } from './core.js';

/** Strings and numbers that describe a span. */
export type TraceAttributes = Readonly<Record<string, string | number>>;

/** One timed step of a trace, which runs until `end`. */
export interface TraceSpan {
  child(name: string, attributes?: TraceAttributes): TraceSpan;
  /** Later calls change nothing. */
  end(attributes?: TraceAttributes): void;
}

/** Begins traces; OpenTelemetry stands behind it. */
export interface TraceSource {
  begin(name: string, attributes: TraceAttributes): TraceSpan;
}

/** The steps of one request. */
interface TracedRequest {
  readonly span: TraceSpan;
  readonly quoteIds: Hex[];
  /** Steps of its transaction that have not ended. */
  tx: { readonly whole: TraceSpan; readonly sending: TraceSpan; mining: TraceSpan | null } | null;
}

/** The steps of one quote of a request. */
interface TracedQuote {
  readonly request: TracedRequest;
  reading: TraceSpan | null;
  committing: TraceSpan | null;
  /** Record of its command; 0: not submitted yet. */
  index: number;
}

type QuoteChecks = Pick<QuoteValidation, 'check' | 'refusals'>;

/**
 * Follows each POST /quotes from the request to the push, as one trace. It wraps the ports that the quotes pass, so no
 * part that it follows knows of it. Quotes are followed until their request is answered, so at most the quotes of the
 * requests under way are held, and `quotesPerRequest` of each.
 */
export class PostTraces {
  readonly #requests = new WeakMap<object, TracedRequest>();
  readonly #quotes = new Map<Hex, TracedQuote>();
  #pushing: TraceSpan[] = [];

  constructor(
    private readonly source: TraceSource,
    private readonly quotesPerRequest: number,
  ) {}

  /** The root span: from the whole request to its answer. */
  route(route: Route): Route {
    if (!route.needsKey) return route;
    return {
      ...route,
      handle: async (request: NetRequest, caller: Caller): Promise<NetResponse> => {
        const span = this.source.begin(`${route.method} ${route.path}`, {
          'http.request.method': route.method,
          'http.route': route.path,
        });
        // A caller of its own leads from the request to the quotes that are submitted for it.
        const own = { ...caller };
        const traced: TracedRequest = { span, quoteIds: [], tx: null };
        this.#requests.set(own, traced);
        let status = 500;
        try {
          const response = await route.handle(request, own);
          ({ status } = response);
          return response;
        } finally {
          this.#forget(traced);
          span.end({ 'http.response.status_code': status, 'quotebook.followed_quotes': traced.quoteIds.length });
        }
      },
    };
  }

  publishing(publishing: QuotePublishing): QuotePublishing {
    return {
      ...publishing,
      submit: (caller, quotes, areOperators) => {
        const traced = this.#requests.get(caller);
        if (traced !== undefined) this.#requests.set(quotes, traced);
        return publishing.submit(caller, quotes, areOperators);
      },
    };
  }

  /** `validating(around)`: the validation whose signatures and chain reads run inside `around`, which times them. */
  validation(validating: (around: TimeStep) => QuoteChecks): QuoteChecks {
    const untraced = validating((_, task) => task());
    return {
      refusals: (quotes) => untraced.refusals(quotes),
      check: async (posted, pending) => {
        const traced = this.#requests.get(posted);
        if (traced === undefined) return untraced.check(posted, pending);
        const span = traced.span.child('check quotes', { 'quotebook.quotes': posted.length });
        try {
          const items = await validating((name, task) => timed(span.child(name), task)).check(posted, pending);
          for (const item of items) if (isAccepted(item)) this.#follow(traced, item.quote.quoteId);
          return items;
        } finally {
          span.end();
        }
      },
    };
  }

  /** Follows the transactions of the publisher; requests that share one have a span each. */
  readonly publications: PublicationWatch = {
    onSending: (quotes) => {
      for (const request of this.#requestsOf(quotes)) {
        // The quotes of a large request need several: the first one is followed.
        if (request.tx !== null) continue;
        const whole = request.span.child('publish transaction', { 'quotebook.quotes': quotes.length });
        request.tx = { whole, sending: whole.child('send transaction'), mining: null };
      }
    },
    onSent: (quotes, txHash) => {
      for (const { tx } of this.#requestsOf(quotes)) {
        if (tx?.mining !== null) continue;
        tx.sending.end({ 'quotebook.tx_hash': txHash });
        tx.mining = tx.whole.child('await receipt');
      }
      for (const quote of this.#tracedOf(quotes)) quote.reading ??= quote.request.span.child('read event');
    },
    onMined: (quotes, { txHash, blockNumber }) => {
      for (const request of this.#requestsOf(quotes)) {
        const attributes = { 'quotebook.tx_hash': txHash, 'quotebook.block': blockNumber };
        request.tx?.mining?.end(attributes);
        request.tx?.whole.end(attributes);
      }
    },
  };

  /** Times the engine's command of a followed quote, and begins to time the commit of its record. */
  book(book: BookPort, lastIndex: () => number): BookPort {
    return {
      ...book,
      submit: (command) => {
        const quote = command.type === 'ENTER_QUOTE' ? this.#quotes.get(command.quote.quoteId) : undefined;
        if (quote === undefined || quote.index > 0) return book.submit(command);
        const applying = quote.request.span.child('apply command');
        const isTaken = book.submit(command);
        applying.end();
        // The journal may refuse it: the reader submits it again.
        if (!isTaken) return isTaken;
        quote.reading?.end();
        quote.index = lastIndex();
        quote.committing = quote.request.span.child('commit record', { 'quotebook.record': quote.index });
        return isTaken;
      },
    };
  }

  /**
   * Ends the commits' spans and times the listeners that are added to `records` between this call and a call of the
   * function that it returns: those that hand messages to the sockets.
   */
  pushes(records: Pick<CommittedRecords, 'onEvents'>): () => void {
    records.onEvents((committed) => {
      if (this.#quotes.size === 0) return;
      for (const { command } of committed) {
        if (command.type !== 'ENTER_QUOTE') continue;
        const { quoteId } = command.quote;
        const quote = this.#quotes.get(quoteId);
        if (!quote?.index) continue;
        quote.committing?.end();
        this.#quotes.delete(quoteId);
        this.#pushing.push(quote.request.span.child('push'));
      }
    });
    return () =>
      records.onEvents(() => {
        for (const span of this.#pushing) span.end();
        this.#pushing = [];
      });
  }

  #follow(request: TracedRequest, quoteId: Hex): void {
    if (request.quoteIds.length >= this.quotesPerRequest || this.#quotes.has(quoteId)) return;
    request.quoteIds.push(quoteId);
    this.#quotes.set(quoteId, { request, reading: null, committing: null, index: 0 });
  }

  #forget(request: TracedRequest): void {
    for (const quoteId of request.quoteIds) {
      const quote = this.#quotes.get(quoteId);
      if (quote?.request !== request) continue;
      quote.reading?.end();
      quote.committing?.end();
      this.#quotes.delete(quoteId);
    }
    request.tx?.sending.end();
    request.tx?.mining?.end();
    request.tx?.whole.end();
  }

  #tracedOf(quotes: readonly IdentifiedQuote[]): TracedQuote[] {
    return quotes.flatMap(({ quoteId }) => this.#quotes.get(quoteId) ?? []);
  }

  #requestsOf(quotes: readonly IdentifiedQuote[]): Iterable<TracedRequest> {
    return new Set(this.#tracedOf(quotes).map(({ request }) => request));
  }
}

/** Runs the task as a step of that name. */
export type TimeStep = <T>(name: string, task: () => Promise<T>) => Promise<T>;

async function timed<T>(span: TraceSpan, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } finally {
    span.end();
  }
}
