import type { TObject } from 'typebox';
import {
  CancelQuoteV2,
  CoverMessage,
  ErrorV2,
  ExpireQuoteV2,
  FillLimitSet,
  FillQuoteV2,
  Heartbeat,
  InfoV2,
  InvalidateQuoteV2,
  OrderbookSnapshot,
  OrderbookUpdate,
  PostQuoteV2,
  QuotesCancelled,
  QuotesChecked,
  QuotesPosted,
  QuotesRestored,
  QuotesSnapshot,
  QuotesWithdrawn,
  RemoveQuoteV2,
  Resync,
  RestoreQuoteV2,
  RevalidateQuoteV2,
  RfqStatusMessage,
  RfqUpdate,
  RfqV2,
  TickerMessage,
  TickerSnapshot,
  TimerSet,
  TradeMessage,
  UndoQuoteV2,
  UndoTradesMessage,
  WithdrawQuoteV2,
} from '../wire/feed-messages.js';
import {
  AuthMessage,
  CancelOnDisconnectMessage,
  cancelQuotesMessage,
  CoverFilterMessage,
  DeleteQuoteMessage,
  FillQuoteMessage,
  FilterMessage,
  FilterV2Message,
  orderbookFilterMessage,
  plainOrderbookFilterMessage,
  PostQuoteMessage,
  postQuotesMessage,
  ProviderHeartbeatMessage,
  ReplyMessage,
  restoreQuotesMessage,
  RfqByPoolAddressMessage,
  RfqByPoolKeyMessage,
  RfqByPoolKeyRequest,
  SetFillLimitMessage,
  TickerFilterMessage,
  TradesFilterMessage,
  UnsubscribeMessage,
  UnsubscribeV2Message,
  withdrawQuotesMessage,
  withId,
} from '../wire/socket.js';
import {
  ReadableDeleteQuoteMessage,
  ReadableFillQuoteMessage,
  ReadablePostQuoteMessage,
  ReadableRfqMessage,
} from '../wire/readable.js';
import type { ChannelDoc, MessageDoc } from './asyncapi.js';

export interface SocketDocLimits {
  /** Most levels of a side that ORDERBOOK shows. */
  readonly wsBookLevels: number;
  /** In one POST_QUOTES, and in one CANCEL_QUOTES. */
  readonly quotesPerRequest: number;
  readonly tradesPerRequest: number;
  readonly withdrawalsPerRequest: number;
}

const auth = { summary: 'Says whose socket this is', schema: AuthMessage };
const rfq = { summary: 'A request for quotes, by pool key', schema: RfqByPoolKeyRequest };
const rfqByAddress = { summary: 'A request for quotes, by pool address', schema: RfqByPoolAddressMessage };
const unsubscribe = { summary: 'Ends the subscription to a channel', schema: UnsubscribeMessage };
const reply = { summary: 'What was done, or why it was not', schema: ReplyMessage };
const orderbookSnapshot = { summary: 'All levels of a book', schema: OrderbookSnapshot };
const orderbookUpdate = { summary: 'Levels of a book that changed; size 0: gone', schema: OrderbookUpdate };

/** The protocol of a client that asks for no subprotocol. */
function plain(wsBookLevels: number): ChannelDoc {
  return {
    description: 'The plain protocol: JSON text frames, one message each. AUTH first.',
    subprotocols: null,
    fromClient: {
      auth,
      filter: { summary: 'Follows a channel, in place of what was followed on it before', schema: FilterMessage },
      filterOrderbook: { summary: "Follows a pool's levels", schema: plainOrderbookFilterMessage(wsBookLevels) },
      unsubscribe,
      unsubscribeOrderbook: { summary: 'Ends the subscription to ORDERBOOK', schema: UnsubscribeV2Message },
      rfq,
      rfqByAddress,
    },
    fromServer: {
      reply,
      postQuote: { summary: 'A quote is in the book, or again', schema: PostQuoteMessage },
      fillQuote: { summary: 'A part of it was taken', schema: FillQuoteMessage },
      deleteQuote: { summary: 'It is not in the book any more', schema: DeleteQuoteMessage },
      orderbookSnapshot,
      orderbookUpdate,
      rfqTold: { summary: 'A request for quotes by pool key, as the server publishes it', schema: RfqByPoolKeyMessage },
      rfqByAddress,
    },
  };
}

/** The plain protocol with other pushes. */
function readable(wsBookLevels: number, subprotocol: string): ChannelDoc {
  return {
    description:
      'The plain protocol with pushes by symbols and in whole units. It is also spoken without a subprotocol on the port of the setting containerPort.',
    subprotocols: [subprotocol],
    fromClient: plain(wsBookLevels).fromClient,
    fromServer: {
      reply,
      postQuote: { summary: 'A quote is in the book, or again', schema: ReadablePostQuoteMessage },
      fillQuote: { summary: 'A part of it was taken', schema: ReadableFillQuoteMessage },
      deleteQuote: { summary: 'It is not in the book any more', schema: ReadableDeleteQuoteMessage },
      orderbookSnapshot,
      orderbookUpdate,
      rfqTold: { summary: 'A request for quotes, as the server publishes it', schema: ReadableRfqMessage },
    },
  };
}

/** The same message with an id. */
function named({ summary, schema }: { summary: string; schema: TObject }): MessageDoc {
  return { summary, schema: withId(schema) };
}

/** The subprotocols of numbered messages. MessagePack frames carry the same messages by position. */
function v2(
  { wsBookLevels, quotesPerRequest, tradesPerRequest, withdrawalsPerRequest }: SocketDocLimits,
  subprotocols: readonly string[],
): ChannelDoc {
  return {
    description:
      'Numbered messages that can be resumed and checked. The MessagePack form has the same fields, by position (docs/reference/api.md).',
    subprotocols,
    fromClient: {
      auth: named(auth),
      filter: {
        summary: 'Follows QUOTES or RFQ, from now on or from where a reader left',
        schema: withId(FilterV2Message),
      },
      filterOrderbook: {
        summary: "Follows a pool's levels",
        schema: withId(orderbookFilterMessage(wsBookLevels)),
      },
      filterTicker: { summary: 'Follows the tickers of all pools, or of one', schema: withId(TickerFilterMessage) },
      filterCover: { summary: 'Follows the quotes that cover a size best', schema: withId(CoverFilterMessage) },
      filterTrades: { summary: 'Follows the fills on the settlement chain', schema: withId(TradesFilterMessage) },
      unsubscribe: { summary: 'Ends the subscription to a channel', schema: withId(UnsubscribeV2Message) },
      rfq: named(rfq),
      rfqByAddress: named(rfqByAddress),
      postQuotes: {
        summary: 'POST /quotes, or with `dryRun` everything but the publication',
        schema: withId(postQuotesMessage(quotesPerRequest)),
      },
      cancelQuotes: {
        summary: 'DELETE /orderbook/quotes, for keys with the scope operator',
        schema: withId(cancelQuotesMessage(tradesPerRequest)),
      },
      withdrawQuotes: {
        summary: 'DELETE /quotes, by a signature of their provider',
        schema: withId(withdrawQuotesMessage(withdrawalsPerRequest)),
      },
      restoreQuotes: {
        summary: 'POST /quotes/restore, by a signature of their provider',
        schema: withId(restoreQuotesMessage(withdrawalsPerRequest)),
      },
      providerHeartbeat: {
        summary: 'POST /heartbeat: withdraws all quotes of a provider unless another comes in time',
        schema: withId(ProviderHeartbeatMessage),
      },
      cancelOnDisconnect: {
        summary: 'Withdraws all quotes of a provider once the connections of the key that sent it are closed',
        schema: withId(CancelOnDisconnectMessage),
      },
      setFillLimit: { summary: 'POST /fill_limits', schema: withId(SetFillLimitMessage) },
    },
    fromServer: {
      info: { summary: 'What was done; after a FILTER: from which number on', schema: InfoV2 },
      error: { summary: 'Why a message was not carried out', schema: ErrorV2 },
      quotesSnapshot: { summary: 'A page of the quotes of a key', schema: QuotesSnapshot },
      postQuote: { summary: 'A quote is in the book', schema: PostQuoteV2 },
      fillQuote: { summary: 'A part of it was taken', schema: FillQuoteV2 },
      removeQuote: { summary: 'All of it was taken', schema: RemoveQuoteV2 },
      cancelQuote: { summary: 'Its provider took it back', schema: CancelQuoteV2 },
      expireQuote: { summary: "Its deadline or its pool's maturity has come", schema: ExpireQuoteV2 },
      invalidateQuote: { summary: 'Its provider cannot pay for it now', schema: InvalidateQuoteV2 },
      revalidateQuote: { summary: 'Its provider can again', schema: RevalidateQuoteV2 },
      undoQuote: { summary: 'A chain took back what had happened to it', schema: UndoQuoteV2 },
      withdrawQuote: { summary: 'Its provider hid it; it can still be filled on the chain', schema: WithdrawQuoteV2 },
      restoreQuote: { summary: 'Its provider shows it again', schema: RestoreQuoteV2 },
      orderbookSnapshot,
      orderbookUpdate,
      tickerSnapshot: { summary: 'A page of the tickers of a key', schema: TickerSnapshot },
      ticker: { summary: 'A pool whose ticker changed', schema: TickerMessage },
      cover: { summary: 'The quotes that cover a size best, whenever they change', schema: CoverMessage },
      trade: { summary: 'A fill on the settlement chain', schema: TradeMessage },
      undoTrades: { summary: 'A reorg undid the trades of all later blocks', schema: UndoTradesMessage },
      rfqTold: { summary: 'A request for quotes, as the server publishes it', schema: RfqV2 },
      quotesPosted: { summary: 'What became of the quotes of POST_QUOTES', schema: QuotesPosted },
      quotesChecked: { summary: 'What POST_QUOTES would have done without `dryRun`', schema: QuotesChecked },
      quotesCancelled: { summary: 'What became of the quotes of CANCEL_QUOTES', schema: QuotesCancelled },
      quotesWithdrawn: { summary: 'What became of the quotes of WITHDRAW_QUOTES', schema: QuotesWithdrawn },
      quotesRestored: { summary: 'What became of the quotes of RESTORE_QUOTES', schema: QuotesRestored },
      timerSet: { summary: 'The timer of PROVIDER_HEARTBEAT or CANCEL_ON_DISCONNECT runs', schema: TimerSet },
      fillLimitSet: { summary: 'The limits of the provider after SET_FILL_LIMIT', schema: FillLimitSet },
      rfqUpdate: { summary: 'What became of a request for quotes', schema: RfqUpdate },
      rfqStatus: { summary: "How one of the key's own requests stands, with the best quote", schema: RfqStatusMessage },
      resync: { summary: 'The server cannot resume: a snapshot follows', schema: Resync },
      heartbeat: { summary: 'The last event sent, the hashes of the books, and the chains', schema: Heartbeat },
    },
  };
}

/** Every protocol that is spoken over sockets, by name. `numbered`: the subprotocols of numbered messages. */
export function socketDocs(
  limits: SocketDocLimits,
  numbered: readonly string[],
  readableName: string,
): Readonly<Record<string, ChannelDoc>> {
  return {
    plain: plain(limits.wsBookLevels),
    v2: v2(limits, numbered),
    readable: readable(limits.wsBookLevels, readableName),
  };
}
