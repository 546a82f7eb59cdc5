import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { Command } from '../../src/engine/command.js';
import type { LargeAnswerRunner } from '../../src/http/responses.js';
import type { OrderbookQuote, OrdersResponse } from '../../src/wire/orderbook.js';
import { at, enter, MAKER, newEngine, originAt, POOL, quoteIdOf, sampleQuote, START } from '../engine/samples.js';
import { ask, requestOf } from './ask-route.js';
import { CHAIN_ID, orderbookOver } from './orderbook-over.js';

const about = `poolAddress=${POOL.poolAddress}&chainId=${CHAIN_ID}`;

/** An engine with the routes over it. A test says when what is in it is durable, and what happens in others' turns. */
function served(ordersPerTurn = 10) {
  const engine = newEngine();
  const others = { turn: (): void => undefined, pending: null as Promise<void> | null };
  const routes = orderbookOver(engine, {
    ordersPerTurn,
    whenDurable: () => others.pending,
    yieldToEventLoop: async () => others.turn(),
  });
  return {
    others,
    apply: (command: Command) => engine.apply(command, { index: engine.index + 1, tsMs: START * 1000 }),
    get: (target: string) => ask(routes, requestOf('GET', target)),
    post: (body: unknown) => ask(routes, requestOf('POST', '/orders/query', body)),
  };
}

function fill(n: number, size: bigint): Command {
  return { type: 'FILL_QUOTE', quoteId: quoteIdOf(n), size, origin: originAt(60), position: at('settlement', 60) };
}

for (const [what, ordersPerTurn] of [
  ['short', 10],
  ['long', 1],
] as const) {
  t.test(`a ${what} answer is given once what it tells is durable, the first time and every other`, async (t) => {
    const { others, apply, get } = served(ordersPerTurn);
    apply(enter(sampleQuote({ n: 1 })));
    for (const nth of ['first', 'second', 'third', 'fourth']) {
      let commit = (): void => undefined;
      others.pending = new Promise((resolve) => (commit = resolve));
      const progress = { isAnswered: false };
      const answer = get(`/orders?${about}`).finally(() => (progress.isAnswered = true));
      await turn();
      t.notOk(progress.isAnswered, `the ${nth} waits`);
      commit();
      t.match(JSON.parse((await answer).text), { validQuotes: [{ quoteId: quoteIdOf(1) }] });
    }
  });
}

t.test('an answer with just as many orders as are written in a turn is whole', async (t) => {
  const { apply, get } = served(2);
  for (const n of [1, 2]) apply(enter(sampleQuote({ n })));
  const { validQuotes } = JSON.parse((await get(`/orders?${about}`)).text) as OrdersResponse;
  t.strictSame(
    validQuotes.map(({ quoteId }) => quoteId),
    [quoteIdOf(2), quoteIdOf(1)],
  );
});

t.test('orders that change while a long answer is written are shown as they were when it was read', async (t) => {
  const { others, apply, get } = served(1);
  for (const n of [1, 2, 3]) apply(enter(sampleQuote({ n, size: 10n })));
  others.turn = () => {
    apply(fill(1, 4n));
    others.turn = () => undefined;
  };
  const { validQuotes } = JSON.parse((await get(`/orders?${about}`)).text) as OrdersResponse;
  t.strictSame(
    validQuotes.map(({ fillableSize }) => fillableSize),
    ['10', '10', '10'],
  );
  const after = JSON.parse((await get(`/orders?${about}&quoteIds=${quoteIdOf(1)}`)).text) as OrdersResponse;
  t.match(after.validQuotes, [{ fillableSize: '6' }]);
});

t.test('many quotes that cover a size are written in turns, and shown as they were when they were read', async (t) => {
  const { others, apply, get } = served(2);
  for (const n of [1, 2, 3, 4, 5]) apply(enter(sampleQuote({ n, size: 10n })));
  let turns = 0;
  others.turn = () => {
    turns++;
    apply(fill(5, 1n));
  };
  const { text } = await get(`/quotes?${about}&side=ask&size=50`);
  t.strictSame(
    (JSON.parse(text) as OrderbookQuote[]).map(({ quoteId, fillableSize }) => [quoteId, fillableSize]),
    [1, 2, 3, 4, 5].map((n) => [quoteIdOf(n), '10']),
  );
  t.equal(turns, 2);
});

t.test('makers and ids are found in any letter case', async (t) => {
  const { apply, get } = served();
  apply(enter(sampleQuote({ n: 0xab })));
  const upper = (text: string) => text.toUpperCase().replace('0X', '0x');
  const covered = await get(`/quotes?${about}&size=1&side=ask&provider=${upper(MAKER)}`);
  t.match(JSON.parse(covered.text) as OrderbookQuote[], [{ quoteId: quoteIdOf(0xab) }]);
  const named = await get(`/orders?${about}&quoteIds[]=${upper(quoteIdOf(0xab))}&provider=${upper(MAKER)}`);
  t.match(JSON.parse(named.text), { validQuotes: [{ quoteId: quoteIdOf(0xab) }] });
});

t.test('a malformed id among others finds nothing and spoils none of them', async (t) => {
  const { apply, get } = served();
  apply(enter(sampleQuote({ n: 1 })));
  const bad = ['', '0x12', 'x', `${quoteIdOf(1)}0`, quoteIdOf(1).replace('0x', '0X')].map((id) => `quoteIds[]=${id}`);
  const among = await get(`/orders?${bad.join('&')}&quoteIds[]=${quoteIdOf(1)}`);
  t.equal(among.status, 200);
  t.match(JSON.parse(among.text), { validQuotes: [{ quoteId: quoteIdOf(1) }], invalidQuotes: [] });
  const alone = await get(`/orders?${about}&${bad.join('&')}`);
  t.strictSame([alone.status, JSON.parse(alone.text)], [200, { validQuotes: [], invalidQuotes: [] }]);
});

for (const [what, ordersPerTurn] of [
  ['short', 10],
  ['long', 1],
] as const) {
  t.test(`a body of filters is answered as the query with the same ones (${what})`, async (t) => {
    const { others, apply, get, post } = served(ordersPerTurn);
    for (const n of [1, 2, 3]) apply(enter(sampleQuote({ n })));
    const ids = [1, 3].map(quoteIdOf);
    for (const [query, body] of [
      [`quoteIds[]=${ids.join('&quoteIds[]=')}`, { quoteIds: ids }],
      [`${about}&side=ask&limit=2`, { poolAddress: POOL.poolAddress, chainId: CHAIN_ID, side: 'ask', limit: 2 }],
    ] as const) {
      const { status, text, headers } = await post(body);
      t.strictSame([status, text], [200, (await get(`/orders?${query}`)).text]);
      t.notOk('etag' in headers, 'of what is posted no cache asks again');
    }
    others.pending = new Promise(() => undefined);
    const first = await Promise.race([post({ quoteIds: ids }), turn('not durable')]);
    t.equal(first, 'not durable');
  });
}

t.test('a body that is no filter is refused', async (t) => {
  const { post } = served();
  for (const [body, wrong] of [
    ['{', { keyword: 'json' }],
    [{}, { keyword: 'required' }],
    [
      { chainId: CHAIN_ID, limit: '5' },
      { keyword: 'type', instancePath: '/limit' },
    ],
    [
      { chainId: CHAIN_ID, limit: 1001 },
      { keyword: 'maximum', instancePath: '/limit' },
    ],
    [{ quoteIds: Array<string>(11).fill(quoteIdOf(1)) }, { keyword: 'maxItems', instancePath: '/quoteIds' }],
    [{ quoteIds: [quoteIdOf(1)], misspelt: 1 }, { keyword: 'additionalProperties' }],
  ] as const) {
    const { status, text } = await post(body);
    t.equal(status, 400);
    t.match(text, JSON.stringify(wrong.keyword), JSON.stringify(body));
  }
  const foreign = await post({ chainId: '42161' });
  t.match(foreign, { status: 400, text: '42161' });
});

t.test('each parameter reaches the book as the book has it', async (t) => {
  const asked: unknown[] = [];
  const noting = (answer: unknown) => (query: unknown) => {
    asked.push(query);
    return answer;
  };
  const orders = noting({ valid: [], invalid: [], next: null });
  const book = Object.assign(newEngine(), { cover: noting([]), privateQuotes: noting([]), orders });
  const routes = orderbookOver(book, { ordersPerTurn: 10 });
  const poolAddress = `0x${'ab'.repeat(20)}`;
  const provider = `0x${'cd'.repeat(20)}`;
  const taker = `0x${'ef'.repeat(20)}`;
  const quoteId = `0x${'fa'.repeat(32)}`;
  const spelt = (text: string): string => `0x${text.slice(2).toUpperCase()}`;
  const both = `provider=${spelt(provider)}&taker=${spelt(taker)}&side=bid`;
  const pool = `poolAddress=${spelt(poolAddress)}`;
  for (const target of [
    `/quotes?${pool}&chainId=${CHAIN_ID}&size=7&${both}`,
    `/rfq_quotes?${pool}&chainId=${CHAIN_ID}&side=bid&taker=${spelt(taker)}`,
    `/orders?${pool}&chainId=${CHAIN_ID}&size=0&${both}&limit=3&cursor=12-4`,
    `/orders?quoteIds[]=${spelt(quoteId)}`,
  ]) {
    t.equal((await ask(routes, requestOf('GET', target))).status, 200, target);
  }
  t.strictSame(asked, [
    { poolAddress, size: 7n, side: 'bid', provider, taker },
    { poolAddress, side: 'bid', taker },
    {
      poolAddress,
      side: 'bid',
      provider,
      taker,
      minFillableSize: 0n,
      limit: 3,
      olderThan: { blockNumber: 12, logIndex: 4 },
    },
    { quoteIds: [quoteId] },
  ]);
});

t.test('a large answer waits for its turn, and shows the book as it is then', async (t) => {
  const engine = newEngine();
  const apply = (command: Command) => engine.apply(command, { index: engine.index + 1, tsMs: START * 1000 });
  for (const n of [1, 2]) apply(enter(sampleQuote({ n })));
  let begin = (): void => undefined;
  const charged: number[] = [];
  const work = { turn: () => Promise.resolve(), charge: (rows: number) => void charged.push(rows) };
  const answers: LargeAnswerRunner = {
    run: (_, make) => new Promise<void>((resolve) => (begin = resolve)).then(() => make(work)),
  };
  const routes = orderbookOver(engine, { ordersPerTurn: 2, answers });
  for (const [n, target] of [
    [3, `/orders?${about}`],
    [4, `/quotes?${about}&side=ask&size=${10n ** 24n}`],
  ] as const) {
    const asked = ask(routes, requestOf('GET', target));
    apply(enter(sampleQuote({ n })));
    begin();
    t.match((await asked).text, quoteIdOf(n), target);
  }
  t.ok(charged.length >= 2, 'its slices are charged');
});

t.test('a large answer that its key has no room for is refused; a small one is given all the same', async (t) => {
  const engine = newEngine();
  for (const n of [1, 2]) {
    engine.apply(enter(sampleQuote({ n })), { index: engine.index + 1, tsMs: START * 1000 });
  }
  const routes = orderbookOver(engine, { ordersPerTurn: 2, answers: { run: () => ({ retryAfterMs: 1_500 }) } });
  const get = (target: string) => ask(routes, requestOf('GET', target));
  const refused = { status: 429, headers: { 'retry-after': '2' }, text: '{"message":"RATELIMITED"}' };
  t.match(await get(`/orders?${about}`), refused);
  t.match(await get(`/quotes?${about}&side=ask&size=${2n * 10n ** 18n}`), refused);
  t.match(await get(`/quotes?${about}&side=ask&size=1`), { status: 200 });
  t.match(await get(`/orders?quoteIds[]=${quoteIdOf(1)}`), { status: 200 });
});

t.test('a long answer is remembered while the book stands still', async (t) => {
  let writes = 0;
  const engine = newEngine();
  const apply = (n: number) => engine.apply(enter(sampleQuote({ n })), { index: engine.index + 1, tsMs: START * 1000 });
  for (const n of [1, 2]) apply(n);
  const work = { turn: () => Promise.resolve(), charge: () => (writes += 1) };
  const routes = orderbookOver(engine, { ordersPerTurn: 2, answers: { run: async (_, make) => make(work) } });
  const get = async () => (await ask(routes, requestOf('GET', `/orders?${about}`))).text;
  const texts = [await get(), await get()];
  const written = writes;
  texts.push(await get());
  t.equal(writes, written, 'the third is the second one again');
  t.equal(new Set(texts).size, 1);
  apply(3);
  t.match(await get(), quoteIdOf(3));
});

t.test('quotes have the name of their option where the client asks for it, and else none', async (t) => {
  const { apply, get } = served(10);
  apply(enter(sampleQuote({ n: 1 })));
  const plain = (await get(`/orders?${about}`)).text;
  t.notMatch(plain, 'instrument');
  const instrument = POOL.poolKey.isCallPool ? 'A-B-29NOV30-1-C' : null;
  t.match(JSON.parse((await get(`/orders?${about}&fields=instrument`)).text), { validQuotes: [{ instrument }] });
  const { isBuy } = sampleQuote({ n: 1 });
  const best = `/quotes?${about}&side=${isBuy ? 'bid' : 'ask'}&size=1`;
  t.match(JSON.parse((await get(`${best}&fields=instrument`)).text), [{ instrument }]);
  t.notMatch((await get(best)).text, 'instrument');
  t.equal((await get(`/orders?${about}`)).text, plain, 'to the byte');
  t.match(JSON.parse((await get(`${best}&fields=other`)).text), [{ keyword: 'enum', instancePath: '/fields' }]);
});
