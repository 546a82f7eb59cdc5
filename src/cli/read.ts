// The commands that only read a running service.

import { lacksScope } from '../client/errors.js';
import type { BaseOrderbookClient, QuotesFilter } from '../client/orderbook-client.js';
import type { FollowedEvents } from '../client/followed.js';
import type { QuoteEvent } from '../client/messages.js';
import type { ConnectionState } from '../client/connection.js';
import { formatDecimal } from '../wire/primitives.js';
import type { InstrumentJson } from '../wire/options.js';
import type { NamedOrdersResponse } from '../wire/orderbook.js';
import { columns, type CommandIo, EXIT_FAILED, EXIT_OK, UsageError } from './run.js';
import {
  DECIMALS,
  decimalText,
  findInstrument,
  instrumentName,
  isAddress,
  liveInTime,
  terminalCommand,
  type TerminalSession,
  withdrawnOf,
} from './terminal.js';

/** By its name or by the address of its pool. */
async function instrumentOf({ client, positionals }: TerminalSession): Promise<InstrumentJson> {
  const [name, extra] = positionals;
  if (name === undefined || extra !== undefined)
    throw new UsageError('name one option, such as WETH-USDC-29JAN27-2000-C');
  return findInstrument(client, name);
}

function dash(amount: string | null | undefined): string {
  return amount == null ? '-' : formatDecimal(BigInt(amount), DECIMALS);
}

function percent(volatility: number | null): string {
  return volatility === null ? '-' : `${(volatility * 100).toFixed(1)}%`;
}

export const chainCommand = terminalCommand(
  'chain',
  'list the options of a running service with their best prices',
  {
    usage: 'quotebook chain [--underlying SYMBOL] [--expiry DDMMMYY] [FLAGS]',
    more: { underlying: 'Options on this token alone, such as WETH.', expiry: 'Of this date alone, such as 29JAN27.' },
    about: 'Prices are those of the wire: base tokens for calls, and for puts the share of the strike.',
  },
  async ({ client, isJson, values, io }) => {
    const { tickers } = await client.rest.valuedTickers();
    const shown = tickers
      .filter(({ instrument }) => {
        const [base, , expiry] = (instrument ?? '').split('-');
        if (values.has('underlying') && base?.toLowerCase() !== values.get('underlying')?.toLowerCase()) return false;
        return !values.has('expiry') || expiry?.toLowerCase() === values.get('expiry')?.toLowerCase();
      })
      .sort((a, b) =>
        (a.instrument ?? a.poolAddress).localeCompare(b.instrument ?? b.poolAddress, 'en', { numeric: true }),
      );
    if (isJson) for (const ticker of shown) io.out(JSON.stringify(ticker));
    else {
      const head = ['option', 'bid', 'size', 'ask', 'size', 'bid iv', 'ask iv', 'delta', '24 h'];
      const rows = shown.map(({ instrument, poolAddress, bid, ask, filledSize24h, valuation }) => [
        instrument ?? poolAddress,
        dash(bid?.price),
        dash(bid?.size),
        dash(ask?.price),
        dash(ask?.size),
        percent(valuation.bidVolatility),
        percent(valuation.askVolatility),
        valuation.delta?.toFixed(3) ?? '-',
        dash(filledSize24h),
      ]);
      for (const line of columns([head, ...rows], 'right')) io.out(line);
    }
    return EXIT_OK;
  },
);

export const bookCommand = terminalCommand(
  'book',
  "show an option's price levels",
  {
    usage: 'quotebook book OPTION [--depth LEVELS] [--taker ADDRESS] [FLAGS]',
    more: { depth: 'Levels of each side. Default: 10.', taker: 'Counts the private quotes of this taker in.' },
    about: 'OPTION is a name such as WETH-USDC-29JAN27-2000-C, or the address of a pool.',
  },
  async (session) => {
    const { client, isJson, values, io } = session;
    const { poolAddress, instrument } = await instrumentOf(session);
    const depth = Number(values.get('depth') ?? 10);
    if (!Number.isInteger(depth) || depth < 1) throw new UsageError('--depth is a whole number above 0');
    const taker = values.get('taker');
    if (taker !== undefined && !isAddress(taker)) throw new UsageError('--taker is an address');
    const followed = client.followBook({ poolAddress, depth, ...(taker !== undefined && { taker }) });
    await liveInTime(followed.whenLive());
    const { bids, asks } = followed.book;
    if (isJson) {
      io.out(JSON.stringify({ instrument, poolAddress, bids, asks }, decimalText));
      return EXIT_OK;
    }
    const row = (side: string) => (level: { price: bigint; size: bigint; count: number }) => [
      side,
      formatDecimal(level.price, DECIMALS),
      formatDecimal(level.size, DECIMALS),
      String(level.count),
    ];
    const rows = [...asks.map(row('ask')).reverse(), ...bids.map(row('bid'))];
    io.out(instrument);
    for (const line of columns([['side', 'price', 'size', 'quotes'], ...rows], 'right')) io.out(line);
    return EXIT_OK;
  },
);

export const watchCommand = terminalCommand(
  'watch',
  'print what happens to quotes, until Ctrl-C',
  {
    usage: 'quotebook watch [OPTION] [FLAGS]',
    about:
      'Without OPTION, of all options. The client resumes after a lost connection, so nothing is left out. Where privacy is proven, private quotes take a key with the scope takers:all.',
  },
  async (session) => {
    const { client, isJson, positionals, io } = session;
    const option = positionals.length === 0 ? null : await instrumentOf(session);
    const filter = option === null ? {} : { poolAddress: option.poolAddress };
    const print = (event: QuoteEvent): void => {
      if (isJson) return io.out(JSON.stringify(event));
      const { instrument, poolAddress, isBuy, price, fillableSize, provider } = event.body;
      const words = [
        new Date(event.tsMs).toISOString(),
        String(event.seq),
        event.type.padEnd(16),
        instrument ?? poolAddress,
        isBuy ? 'bid' : 'ask',
        formatDecimal(BigInt(price), DECIMALS),
        formatDecimal(BigInt(event.type === 'FILL_QUOTE' ? event.size : fillableSize), DECIMALS),
        provider,
      ];
      io.out(words.join(' '));
    };
    const followed = await printed(client, { ...filter, taker: '*' }, print).catch((error: unknown) => {
      if (!lacksScope(error)) throw error;
      io.err('Public quotes alone: private ones take a key with the scope takers:all.');
      return printed(client, filter, print);
    });
    return untilInterrupted(client, followed, io);
  },
);

async function printed(
  client: BaseOrderbookClient,
  filter: QuotesFilter,
  print: (event: QuoteEvent) => void,
): Promise<FollowedEvents> {
  const followed = client.followEvents(filter);
  followed.onEvent(print);
  await liveInTime(followed.whenLive());
  return followed;
}

export const accountCommand = terminalCommand(
  'account',
  "show an account's quotes, positions and balances",
  { usage: 'quotebook account ADDRESS [FLAGS]', about: 'Private quotes are shown to a key that may see them.' },
  async ({ client, isJson, positionals, io }) => {
    const [address, extra] = positionals;
    if (address === undefined || extra !== undefined || !isAddress(address)) throw new UsageError('name one address');
    const [orders, hidden, instruments, positions, balances] = await Promise.all([
      client.rest.ordersOf(address, { fields: 'instrument' }),
      withdrawnOf(client, { provider: address }),
      client.rest.instruments(),
      client.rest.optionBalances(address),
      client.rest.collateralBalances(address),
    ]);
    const names = new Map(instruments.map(({ poolAddress, instrument }) => [poolAddress, instrument]));
    const withdrawn = hidden.map((quote) => ({ ...quote, instrument: names.get(quote.poolAddress) ?? null }));
    if (isJson) {
      io.out(JSON.stringify({ orders, withdrawn, positions, balances: balances.success }));
      return EXIT_OK;
    }
    const { validQuotes, invalidQuotes } = orders as NamedOrdersResponse;
    const quotes = [
      ...validQuotes.map((quote) => ({ quote, state: 'live' })),
      ...invalidQuotes.map(({ quote, reason }) => ({ quote, state: reason })),
      ...withdrawn.map((quote) => ({ quote, state: 'withdrawn' })),
    ].map(({ quote, state }) => [
      quote.instrument ?? quote.poolAddress,
      quote.quoteId,
      quote.isBuy ? 'bid' : 'ask',
      formatDecimal(BigInt(quote.price), DECIMALS),
      formatDecimal(BigInt(quote.fillableSize), DECIMALS),
      state,
    ]);
    const held = [...positions.open.map(withState('open')), ...positions.expired.map(withState('expired'))];
    const sections = [
      [['option', 'quote', 'side', 'price', 'left', 'state'], ...quotes],
      [['position', 'exposure', 'contracts', 'state'], ...held],
      [['token', 'balance'], ...balances.success.map(({ symbol, balance }) => [symbol, String(balance)])],
    ];
    for (const line of sections.flatMap((section) => [...columns(section, 'right'), ''])) io.out(line);
    return EXIT_OK;
  },
);

export const statusCommand = terminalCommand(
  'status',
  'show whether a running service is ready, and how far its chains are read',
  { usage: 'quotebook status [FLAGS]', about: 'Exits with 1 when the service is not ready.' },
  async ({ client, isJson, io }) => {
    const [readiness, { seq, epoch, tickers }] = await Promise.all([client.rest.ready(), client.rest.tickers()]);
    const quoted = tickers.filter(({ bid, ask }) => bid !== null || ask !== null).length;
    const status = { ...readiness, epoch, seq, pools: tickers.length, quotedPools: quoted };
    if (isJson) io.out(JSON.stringify(status));
    else {
      io.out(readiness.ready ? 'ready' : 'not ready');
      for (const reason of readiness.reasons) io.out(`  ${reason}`);
      io.out(`event ${seq} of log ${epoch}; ${tickers.length} pools, ${quoted} with quotes`);
    }
    return readiness.ready ? EXIT_OK : EXIT_FAILED;
  },
);

function withState(state: string) {
  return ({ name, exposure, amount }: { name: string; exposure: string; amount: number }): string[] => {
    return [instrumentName(name), exposure.toLowerCase(), String(amount), state];
  };
}

/** Resolves at SIGINT or SIGTERM, or when the key is refused. */
function untilInterrupted(client: BaseOrderbookClient, followed: FollowedEvents, io: CommandIo): Promise<number> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve(EXIT_OK));
    followed.onState((state) => {
      if (state === 'REFUSED' || state === 'CLOSED') resolve(EXIT_FAILED);
    });
    client.onConnection((state: ConnectionState) => {
      if (state === 'WAITING') io.err('The connection is lost: connecting again.');
    });
  });
}
