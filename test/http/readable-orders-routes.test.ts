import t from 'tap';
import { bookQueries } from '../../src/app/book-views.js';
import { type Privacy, TakerAccess } from '../../src/auth/taker-access.js';
import { arbitrum } from '../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../src/chain/options/option-series.js';
import type { Command } from '../../src/engine/command.js';
import { InvalidReason } from '../../src/engine/quote.js';
import { type ReadableOrdersParts, readableOrdersRoutes } from '../../src/http/readable-orders-routes.js';
import type { Caller } from '../../src/http/router.js';
import { ReadableJson } from '../../src/wire/readable.js';
import {
  address,
  at,
  enter,
  MAKER,
  newEngine,
  originAt,
  POOL,
  quoteIdOf,
  samplePool,
  sampleQuote,
  START,
  TAKER,
} from '../engine/samples.js';
import { answersAtOnce, ask, requestOf } from './ask-route.js';

const OPERATOR = address(0x30);
const CONTRACT = 10n ** 18n;
const series = new OptionSeries(arbitrum);
const readable = new ReadableJson({ optionOf: (key) => series.optionOf(key), nowSeconds: () => START });

/** An engine with the routes over it. */
function served(
  about: Partial<Pick<ReadableOrdersParts, 'poolAddressOf' | 'operator'>> & {
    readonly rowsPerSlice?: number;
    readonly privacy?: Privacy;
  } = {},
) {
  const { rowsPerSlice = 10, privacy = 'open' } = about;
  const engine = newEngine();
  const others = { turn: (): void => undefined, pending: null as Promise<void> | null };
  const charged: (readonly [rows: number, bytes: number])[] = [];
  const routes = readableOrdersRoutes({
    book: bookQueries(engine, { whenDurable: () => others.pending }),
    readable,
    symbols: series.symbols,
    poolKey: (option, maturity) => series.poolKey(option, maturity),
    poolAddressOf: about.poolAddressOf ?? (() => Promise.resolve(POOL.poolAddress)),
    nowSeconds: () => START,
    operator: about.operator ?? (() => OPERATOR),
    takers: new TakerAccess(privacy, () => OPERATOR),
    answers: answersAtOnce({ turn: async () => others.turn(), charge: (...cost) => charged.push(cost) }),
    limits: { queryPairs: 20, schemaErrors: 5, rowsPerSlice },
  });
  const answer = (target: string) => ask(routes, requestOf('GET', target));
  const read = async (target: string, caller?: Caller): Promise<string> => {
    const { status, text } = await ask(routes, requestOf('GET', target), caller);
    if (status !== 200) throw new Error(`${status} ${text}`);
    return text;
  };
  return {
    others,
    charged,
    answer,
    read,
    apply: (...commands: Command[]) => {
      for (const command of commands) engine.apply(command, { index: engine.index + 1, tsMs: START * 1000 });
    },
    get: async (target: string, caller?: Caller): Promise<unknown> => JSON.parse(await read(target, caller)),
  };
}

const named = (...numbers: number[]) => numbers.map((n) => ({ quoteId: quoteIdOf(n) }));

for (const [what, rowsPerSlice] of [
  ['short', 10],
  ['long', 1],
] as const) {
  t.test(`a ${what} list of invalid orders has the reason of each`, async (t) => {
    const { apply, get } = served({ rowsPerSlice });
    const { InsufficientShortBalance, InsufficientCollateralAllowance } = InvalidReason;
    apply(
      enter(sampleQuote({ n: 1, size: 2n * CONTRACT }), { reason: InsufficientCollateralAllowance }),
      enter(sampleQuote({ n: 2, size: CONTRACT })),
      enter(sampleQuote({ n: 3, size: 3n * CONTRACT, isBuy: true }), {
        fillableSize: CONTRACT / 2n,
        reason: InsufficientShortBalance,
      }),
    );
    const invalid = await get(`/orderbook/orders?provider=${MAKER}&type=invalid`);
    t.strictSame((invalid as readonly object[]).map(Object.keys), [
      ['reason', 'quote'],
      ['reason', 'quote'],
    ]);
    t.match(invalid, [
      {
        reason: 'InsufficientShortBalance',
        quote: { quoteId: quoteIdOf(3), side: 'bid', remainingSize: 0.5, provider: MAKER, createdAt: START - 60 },
      },
      {
        reason: 'InsufficientCollateralAllowance',
        quote: { quoteId: quoteIdOf(1), side: 'ask', remainingSize: 2, deadline: 1000 },
      },
    ]);
    t.match(await get(`/orderbook/orders?provider=${MAKER}`), named(2));
    t.match(await get(`/account/orders?walletAddr=${MAKER}`), named(2), 'those that can be filled alone');
  });

  t.test(`a ${what} list has the orders that every filter lets through, newest first`, async (t) => {
    const { apply, get } = served({ rowsPerSlice });
    const [elsewhere, other] = [samplePool(1), address(0x11)];
    apply(
      enter(sampleQuote({ n: 1, size: CONTRACT })),
      enter(sampleQuote({ n: 2, size: 2n * CONTRACT, isBuy: true })),
      enter(sampleQuote({ n: 3, size: CONTRACT, pool: elsewhere })),
      enter(sampleQuote({ n: 4, size: 2n * CONTRACT, provider: other, taker: TAKER })),
      enter(sampleQuote({ n: 5, size: 2n * CONTRACT, provider: other })),
    );
    const upper = (text: string) => text.toUpperCase().replace('0X', '0x');
    const lists = {
      '': [5, 3, 2, 1],
      'size=1.5': [5, 2],
      'size=0': [5, 3, 2, 1],
      [`poolAddress=${POOL.poolAddress}`]: [5, 2, 1],
      [`poolAddress=${upper(elsewhere.poolAddress)}`]: [3],
      'side=bid': [2],
      [`side=ask&poolAddress=${POOL.poolAddress}`]: [5, 1],
      [`side=ask&provider=${upper(MAKER)}`]: [3, 1],
      [`side=bid&poolAddress=${elsewhere.poolAddress}`]: [],
    };
    for (const [query, numbers] of Object.entries(lists)) {
      const found = (await get(`/orderbook/orders?${query}`)) as readonly { readonly quoteId: string }[];
      t.strictSame(
        found.map(({ quoteId }) => ({ quoteId })),
        named(...numbers),
        query,
      );
    }
  });

  t.test(`a ${what} list is given once what it tells is durable`, async (t) => {
    const { others, apply, get } = served({ rowsPerSlice });
    apply(enter(sampleQuote({ n: 1 })));
    let commit = (): void => undefined;
    others.pending = new Promise((resolve) => (commit = resolve));
    const progress = { isAnswered: false };
    const answer = get('/orderbook/orders').finally(() => (progress.isAnswered = true));
    await new Promise(setImmediate);
    t.notOk(progress.isAnswered);
    commit();
    t.match(await answer, named(1));
  });
}

/** Five quotes in slices of two. Between two slices a contract of the quote `filled` is filled. */
function servedInSlices(filled: number) {
  const { others, charged, apply, read } = served({ rowsPerSlice: 2 });
  for (const n of [1, 2, 3, 4, 5]) apply(enter(sampleQuote({ n, size: 10n * CONTRACT })));
  let turns = 0;
  others.turn = () => {
    const origin = originAt(60 + turns++);
    const position = at('settlement', origin.blockNumber);
    apply({ type: 'FILL_QUOTE', quoteId: quoteIdOf(filled), size: CONTRACT, origin, position });
  };
  return { charged, read, turns: () => turns };
}

t.test('a long list is written in slices, each charged, and shows the orders as they were', async (t) => {
  const { charged, read, turns } = servedInSlices(1);
  const text = await read('/orderbook/orders');
  t.match(
    JSON.parse(text),
    [5, 4, 3, 2, 1].map((n) => ({ quoteId: quoteIdOf(n), remainingSize: 10 })),
  );
  t.equal(turns(), 3);
  const [reading, ...slices] = charged;
  t.strictSame(reading, [1, 0]);
  t.strictSame(
    slices.map(([rows]) => rows),
    [2, 2, 1],
  );
  const brackets = '[]'.length;
  const commas = slices.length - 1;
  t.equal(
    slices.reduce((sum, [, bytes]) => sum + bytes, brackets + commas),
    text.length,
  );
});

const OPTION = 'base=WETH&quote=USDC&expiration=24NOV23&strike=1800&type=C';

t.test(
  'a long list of the best quotes is written in slices, each charged, and shows the quotes as they were',
  async (t) => {
    const { charged, read, turns } = servedInSlices(5);
    const text = await read(`/orderbook/quotes?${OPTION}&side=ask&size=50`);
    t.match(
      JSON.parse(text),
      [1, 2, 3, 4, 5].map((n) => ({ quoteId: quoteIdOf(n), remainingSize: 10 })),
    );
    t.equal(turns(), 3);
    t.strictSame(
      charged.map(([rows]) => rows).filter((rows) => rows > 0),
      [2, 2, 1],
    );
  },
);

t.test('the best quotes of a provider alone, in any letter case of its address', async (t) => {
  const { apply, get } = served();
  const other = address(0x11);
  apply(enter(sampleQuote({ n: 1 })), enter(sampleQuote({ n: 2, provider: other })));
  const upper = other.toUpperCase().replace('0X', '0x');
  t.match(await get(`/orderbook/quotes?${OPTION}&side=ask&size=1`), named(1, 2));
  const found = (await get(`/orderbook/quotes?${OPTION}&side=ask&size=1&provider=${upper}`)) as unknown[];
  t.match(found, named(2));
  t.equal(found.length, 1);
});

t.test('a size of 0 needs no quote', async (t) => {
  const { apply, get } = served();
  apply(enter(sampleQuote({ n: 1 })));
  t.strictSame(await get(`/orderbook/quotes?${OPTION}&side=ask&size=0`), []);
});

for (const rowsPerSlice of [10, 1]) {
  t.test(`the best quotes are given once they are durable (slices of ${rowsPerSlice})`, async (t) => {
    const { others, apply, get } = served({ rowsPerSlice });
    apply(enter(sampleQuote({ n: 1 })));
    let commit = (): void => undefined;
    others.pending = new Promise((resolve) => (commit = resolve));
    const progress = { isAnswered: false };
    const answer = get(`/orderbook/quotes?${OPTION}&side=ask&size=1`).finally(() => (progress.isAnswered = true));
    await new Promise(setImmediate);
    t.notOk(progress.isAnswered);
    commit();
    t.match(await answer, named(1));
  });
}

t.test('the best quotes of an impossible pool are refused with the query', async (t) => {
  const { answer } = served({ poolAddressOf: () => Promise.resolve('IMPOSSIBLE') });
  const { status, text } = await answer(`/orderbook/quotes?${OPTION}&side=ask&size=1`);
  t.equal(status, 400);
  const quotesRequest = { ...Object.fromEntries(new URLSearchParams(OPTION)), side: 'ask', size: '1' };
  t.strictSame(JSON.parse(text), { message: 'Can not get pool address', quotesRequest });
});

t.test('the best quotes while the chain does not answer for the pool are 503', async (t) => {
  const { answer } = served({ poolAddressOf: () => Promise.resolve('UNAVAILABLE') });
  const { status, text } = await answer(`/orderbook/quotes?${OPTION}&side=ask&size=1`);
  t.strictSame([status, JSON.parse(text)], [503, { message: 'The chain does not answer' }]);
});

t.test('without a wallet only the orders of a named account are listed', async (t) => {
  const { answer } = served({ operator: () => null });
  const { status, text } = await answer('/account/orders');
  t.equal(status, 501);
  t.match(text, 'walletKey');
  t.equal((await answer(`/account/orders?walletAddr=${MAKER}`)).status, 200);
});

const keyOf = (rest: Omit<Caller, 'id' | 'tier'> = {}): Caller => ({ id: 'viewer', tier: 'paid', ...rest });
const viewers = {
  operator: keyOf({ scopes: ['operator'] }),
  maker: keyOf({ proven: [MAKER] }),
  taker: keyOf({ proven: [TAKER] }),
  everyTaker: keyOf({ scopes: ['takers:all'] }),
  stranger: keyOf(),
};

for (const [privacy, ofMaker, ofOperator] of [
  [
    'open',
    { operator: [1], maker: [2, 1], taker: [1], everyTaker: [2, 1], stranger: [1] },
    { operator: [4, 3], maker: [4, 3], taker: [4, 3], everyTaker: [4, 3], stranger: [4, 3] },
  ],
  [
    'proven',
    { operator: [1], maker: [2, 1], taker: [1], everyTaker: [2, 1], stranger: [1] },
    { operator: [4, 3], maker: [3], taker: [4, 3], everyTaker: [4, 3], stranger: [3] },
  ],
] as const) {
  for (const rowsPerSlice of [10, 1]) {
    t.test(`with privacy ${privacy}, private orders of an account (slices of ${rowsPerSlice})`, async (t) => {
      const { apply, get } = served({ rowsPerSlice, privacy });
      apply(
        enter(sampleQuote({ n: 1 })),
        enter(sampleQuote({ n: 2, taker: TAKER })),
        enter(sampleQuote({ n: 3, provider: OPERATOR })),
        enter(sampleQuote({ n: 4, provider: OPERATOR, taker: TAKER })),
      );
      for (const [name, viewer] of Object.entries(viewers)) {
        const shown = async (query: string) => {
          const found = (await get(`/account/orders${query}`, viewer)) as readonly { readonly quoteId: string }[];
          return found.map(({ quoteId }) => quoteId);
        };
        const of = name as keyof typeof viewers;
        t.strictSame(await shown(`?walletAddr=${MAKER}`), ofMaker[of].map(quoteIdOf), `${name}: the maker's`);
        t.strictSame(await shown(`?walletAddr=${OPERATOR}`), ofOperator[of].map(quoteIdOf), `${name}: the operator's`);
        t.strictSame(await shown(''), ofOperator[of].map(quoteIdOf), `${name}: without a wallet`);
      }
    });
  }
}
