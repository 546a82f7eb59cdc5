import fc from 'fast-check';
import t from 'tap';
import { InvalidReason, type Order } from '../../src/engine/quote.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import { readyAgain, ResponseCache, taggedJson, WrittenLists } from '../../src/http/response-cache.js';
import type { NetRequest } from '../../src/net/net.js';
import type { OrdersResponse } from '../../src/wire/orderbook.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { CommandMaker, MAKERS, POOLS, steps, TAKERS } from '../engine/random-commands.js';
import { at, enter, newEngine, originAt, POOL, quoteIdOf, sampleQuote, START, TAKER } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';
import { ask, requestOf } from './ask-route.js';
import { CHAIN_ID, orderbookOver } from './orderbook-over.js';

const tagged = (body: string) => ({ etag: `"${body}"`, answer: { status: 200, headers: { etag: `"${body}"` }, body } });

/** Asks as a route does, for an answer whose body is `body` when it has to be made. */
function askRemembered(answers: ResponseCache, path: string, query: string, index: number, body: string): string {
  const known = answers.find(path, query, index);
  if (known === undefined) answers.keep(path, query, tagged(body));
  return known === undefined ? 'made' : Buffer.from(known.answer.body).toString();
}

t.test('an answer is kept when it is asked for again, and given from then on', async (t) => {
  const answers = new ResponseCache(1000);
  const asked = ['first', 'second', 'third', 'fourth'].map((body) => askRemembered(answers, '/a', 'x=1', 1, body));
  t.strictSame(asked, ['made', 'made', 'second', 'second']);
  t.equal(answers.find('/a', 'x=1', 1)?.etag, '"second"');
});

t.test('the same query of another path, and another query of the same, have answers of their own', async (t) => {
  const answers = new ResponseCache(1000);
  const targets = [
    ['/a', 'x=1'],
    ['/b', 'x=1'],
    ['/a', 'x=2'],
    ['/a', ''],
  ] as const;
  for (let round = 0; round < 2; round++)
    for (const [path, query] of targets) askRemembered(answers, path, query, 1, path + query);
  for (let round = 0; round < 2; round++)
    for (const [path, query] of targets) t.equal(askRemembered(answers, path, query, 1, 'new'), path + query);
});

t.test('with the next record every answer is forgotten', async (t) => {
  const answers = new ResponseCache(1000);
  for (let i = 0; i < 3; i++) askRemembered(answers, '/a', '', 1, 'old');
  t.equal(askRemembered(answers, '/a', '', 1, 'new'), 'old');
  t.equal(askRemembered(answers, '/a', '', 2, 'new'), 'made');
  t.equal(askRemembered(answers, '/a', '', 2, 'new'), 'made');
  t.equal(askRemembered(answers, '/a', '', 2, 'newer'), 'new');
});

t.test('an answer that does not fit takes the place of all before', async (t) => {
  const answers = new ResponseCache(100);
  const body = 'thirty bytes of an answer.....';
  for (const path of ['/a', '/b']) for (let i = 0; i < 2; i++) askRemembered(answers, path, 'x=1', 1, body);
  for (const path of ['/a', '/b']) t.equal(askRemembered(answers, path, 'x=1', 1, ''), body);
  for (let i = 0; i < 2; i++) askRemembered(answers, '/c', 'x=1', 1, body);
  t.equal(askRemembered(answers, '/c', 'x=1', 1, ''), body);
  for (const path of ['/a', '/b']) t.equal(askRemembered(answers, path, 'x=1', 1, ''), 'made');
});

t.test('an answer that never fits is not kept, and takes no other one’s place', async (t) => {
  const answers = new ResponseCache(60);
  for (let i = 0; i < 3; i++) askRemembered(answers, '/a', 'x=1', 1, 'short');
  for (let i = 0; i < 3; i++) t.equal(askRemembered(answers, '/b', 'x=1', 1, 'x'.repeat(60)), 'made');
  t.equal(askRemembered(answers, '/a', 'x=1', 1, ''), 'short');
});

t.test('of queries that were asked once only so many are known, and none that is too long', async (t) => {
  const answers = new ResponseCache(160);
  const others = ['x=2', 'x=3', 'x=4'];
  for (const query of ['x=1', ...others]) t.equal(askRemembered(answers, '/a', query, 1, query), 'made');
  for (let i = 0; i < 2; i++)
    t.equal(askRemembered(answers, '/a', 'x=1', 1, 'x=1'), 'made', 'forgotten for the last of them');
  t.equal(askRemembered(answers, '/a', 'x=1', 1, ''), 'x=1');
  for (let i = 0; i < 3; i++) t.equal(askRemembered(answers, '/a', 'size=123456', 1, ''), 'made', 'too long');
  for (let i = 0; i < 3; i++) t.equal(askRemembered(answers, '/a', 'size=12345', 1, ''), i < 2 ? 'made' : '');
});

t.test('an answer that is larger than all that may be kept is made each time', async (t) => {
  const answers = new ResponseCache(19);
  const asked = ['first', 'second', 'third'].map((body) => askRemembered(answers, '/a', 'x=1', 1, body.padEnd(20)));
  t.strictSame(asked, ['made', 'made', 'made']);
});

const order = (n: number): Order => ({ quote: sampleQuote({ n }), fillableSize: 1n, state: 'live', reason: null });
const [one, two, three] = [order(1), order(2), order(3)];

/** Wants a list as a route does, which is `body` when it has to be written. */
function want(lists: WrittenLists, orders: readonly Order[], index: number, body: string): string {
  const known = lists.find(orders, index);
  if (known === undefined) lists.keep(orders, taggedJson(body, `shown by ${body}`));
  else t.equal(known.etag, `"shown by ${Buffer.from(known.answer.body).toString()}"`);
  return known === undefined ? 'written' : Buffer.from(known.answer.body).toString();
}

t.test('a list is kept when it is wanted again, and given from then on', async (t) => {
  const lists = new WrittenLists(1000);
  const wanted = ['first', 'second', 'third', 'fourth'].map((body) => want(lists, [one, two], 1, body));
  t.strictSame(wanted, ['written', 'written', 'second', 'second']);
});

t.test('as many are kept as fit', async (t) => {
  const lists = new WrittenLists(1000);
  for (const orders of [[one], [two], [three]]) for (let i = 0; i < 2; i++) want(lists, orders, 1, 'kept');
  for (const orders of [[one], [two], [three]]) t.equal(want(lists, orders, 1, 'new'), 'kept');
});

t.test('an empty list is one, too', async (t) => {
  const lists = new WrittenLists(1000);
  const wanted = ['first', 'second', 'third'].map((body) => want(lists, [], 1, body));
  t.strictSame(wanted, ['written', 'written', 'second']);
});

t.test('other orders make another list, whatever the last one is', async (t) => {
  const lists = new WrittenLists(1000);
  for (let i = 0; i < 3; i++) want(lists, [one, two, three], 1, 'all');
  for (const orders of [[one, two], [two, three], [three], [two, one, three], []]) {
    t.equal(lists.find(orders, 1), undefined, `${orders.length} of them`);
  }
  t.equal(want(lists, [two, three], 1, 'two'), 'written');
  t.equal(want(lists, [two, three], 1, 'new'), 'two', 'it takes the place of the one with the same end');
});

t.test('with the next record every list is forgotten', async (t) => {
  const lists = new WrittenLists(1000);
  for (let i = 0; i < 3; i++) want(lists, [one], 1, 'old');
  t.equal(want(lists, [one], 1, 'new'), 'old');
  for (const expected of ['written', 'written', 'new']) t.equal(want(lists, [one], 2, 'new'), expected);
});

t.test('a list that does not fit takes the place of all before, and one that never fits is not kept', async (t) => {
  const lists = new WrittenLists(115);
  for (const expected of ['written', 'written', 'ten bytes.']) t.equal(want(lists, [one], 1, 'ten bytes.'), expected);
  for (const expected of ['written', 'written', 'ten bytes.']) t.equal(want(lists, [two], 1, 'ten bytes.'), expected);
  t.equal(lists.find([one], 1), undefined);
  for (let i = 0; i < 3; i++) t.equal(want(lists, [three], 1, 'x'.repeat(116)), 'written');
});

t.test('a tag is what is shown, in quotes; without it an answer has none', async (t) => {
  t.strictSame(taggedJson('[]', 'abc'), {
    etag: '"abc"',
    answer: { status: 200, headers: { 'content-type': 'application/json', etag: '"abc"' }, body: '[]' },
  });
  t.strictSame(taggedJson('[]', null), {
    etag: undefined,
    answer: { status: 200, headers: { 'content-type': 'application/json' }, body: '[]' },
  });
});

t.test('made ready, an answer says the same: its headers are joined and its text is bytes', async (t) => {
  const { etag, answer } = readyAgain(taggedJson('[]', 'abc'));
  t.equal(etag, '"abc"');
  t.equal(answer.status, 200);
  t.strictSame(answer.headers, {});
  t.strictSame(
    answer.shared?.map(({ record }) => record),
    [{ 'content-type': 'application/json', etag: '"abc"' }],
  );
  t.strictSame(answer.body, Buffer.from('[]'));
});

t.test('what is ready stays as it is', async (t) => {
  const ready = readyAgain(taggedJson(Buffer.from('[]'), 'abc'));
  t.equal(readyAgain(ready).answer, ready.answer);
});

/**
 * An engine with the routes over it. Answers with `ordersPerTurn` orders and more are written in turns, and not
 * remembered.
 */
function served(ordersPerTurn = 1) {
  const engine = newEngine();
  const clock = new ManualClock(START * 1000);
  const time = new EngineTime(clock, START * 1000);
  time.observe(START);
  const sequencer = new Sequencer({
    engine,
    journal: new MemoryJournal(),
    time,
    expiredAtOnce: Infinity,
    onFault(fault) {
      throw fault;
    },
  });
  const routes = orderbookOver(engine, { ordersPerTurn });
  const get = (target: string, ifNoneMatch?: string) => {
    const request: NetRequest = {
      ...requestOf('GET', target),
      header: (name) => (name === 'if-none-match' ? ifNoneMatch : undefined),
    };
    return ask(routes, request);
  };
  return { engine, clock, sequencer, get };
}

const tagOf = ({ headers }: { readonly headers: Readonly<Record<string, string>> }): string => headers.etag ?? '';

const about = `poolAddress=${POOL.poolAddress}&chainId=${CHAIN_ID}`;
const targets = [
  ...['1', '5', '1000'].flatMap((size) => ['bid', 'ask'].map((side) => `/quotes?${about}&size=${size}&side=${side}`)),
  `/quotes?${about}&size=5&side=ask&taker=${TAKERS[0]}`,
  `/quotes?${about}&size=5&side=ask&taker=${TAKERS[1]}`,
  `/quotes?${about}&size=5&side=ask&provider=${MAKERS[0]}`,
  `/quotes?poolAddress=${POOLS[1]?.poolAddress}&chainId=${CHAIN_ID}&size=5&side=ask`,
  `/rfq_quotes?${about}&side=ask&taker=${TAKERS[0]}`,
  `/orders?${about}`,
  `/orders?${about}&side=ask`,
  `/orders?${about}&size=5`,
  `/orders?${about}&provider=${MAKERS[0]}`,
  `/orders?${about}&taker=${TAKERS[0]}`,
  `/orders?${about}&quoteIds[]=${quoteIdOf(1)}`,
  `/orders?${about}&quoteIds[]=${quoteIdOf(1)}&quoteIds[]=${quoteIdOf(2)}`,
];

t.test('two answers have the same tag just when they are the same', async (t) => {
  const answers = new Map<string, string>();
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const { engine, clock, sequencer, get } = served();
      const commands = new CommandMaker();
      for (const [place, step] of script.entries()) {
        if (step.kind === 'restart') continue;
        if (step.kind === 'pass') clock.advance(step.ms);
        sequencer.submit(commands.make(step, engine));
        const target = targets[place % targets.length] ?? '';
        const answer = await get(target);
        const tag = tagOf(answer);
        if ((answers.get(tag) ?? answer.text) !== answer.text) throw new Error('one tag of two answers');
        answers.set(tag, answer.text);
        const again = await get(target, tag);
        if (again.status !== 304 || again.text !== '' || tagOf(again) !== tag) throw new Error('not recognised');
      }
    }),
    { numRuns: 100, endOnFailure: true },
  );
  t.equal(new Set(answers.values()).size, answers.size, 'and no answer has two tags');
  t.ok(answers.size > 100, `${answers.size} different answers came up`);
});

t.test('sizes that the same quotes cover are answered alike, and anew after a change', async (t) => {
  const { sequencer, get } = served();
  sequencer.submit(enter(sampleQuote({ n: 1, size: 100n })));
  const tags = new Set<string>();
  const ask = async (sizes: readonly number[], fillableSize: string) => {
    for (const size of sizes) {
      const answer = await get(`/quotes?${about}&size=${size}&side=ask`);
      t.match(JSON.parse(answer.text), [{ quoteId: quoteIdOf(1), fillableSize }]);
      tags.add(tagOf(answer));
    }
  };
  await ask([10, 20, 30, 40], '100');
  sequencer.submit({
    type: 'FILL_QUOTE',
    quoteId: quoteIdOf(1),
    size: 40n,
    origin: originAt(60),
    position: at('settlement', 60),
  });
  await ask([10, 20, 30, 40], '60');
  t.equal(tags.size, 2);
});

t.test('the tag of an answer that is no longer so is given the whole new one', async (t) => {
  const { sequencer, get } = served();
  const target = `/orders?${about}`;
  const before = await get(target);
  sequencer.submit(enter(sampleQuote({ n: 1 })));
  const after = await get(target, tagOf(before));
  t.equal(after.status, 200);
  t.match(JSON.parse(after.text), { validQuotes: [{ quoteId: quoteIdOf(1) }] });
  t.not(tagOf(after), tagOf(before));
});

t.test('a reason that changes in silence is shown, however often the one before was asked for', async (t) => {
  const { sequencer, get } = served(10);
  sequencer.submit(enter(sampleQuote({ n: 1 })));
  const reasons = ['InsufficientCollateralAllowance', 'InsufficientCollateralBalance'] as const;
  for (const [i, name] of reasons.entries()) {
    const position = at('settlement', 60 + i);
    const quoteId = quoteIdOf(1);
    sequencer.submit({ type: 'SET_VALIDITY', quoteId, reason: InvalidReason[name], origin: null, position });
    for (let times = 0; times < 3; times++) {
      const { invalidQuotes } = JSON.parse((await get(`/orders?${about}`)).text) as OrdersResponse;
      t.strictSame(
        invalidQuotes.map(({ reason }) => reason),
        [name],
      );
    }
  }
});

t.test('If-None-Match may list tags, mark them as weak, or take any', async (t) => {
  const { get } = served();
  const target = `/rfq_quotes?${about}&side=ask&taker=${TAKER}`;
  const tag = tagOf(await get(target));
  t.match(tag, /^"[\w-]{43}"$/, 'a strong tag');
  for (const named of [tag, `"other", ${tag}`, `W/${tag}`, '*']) t.equal((await get(target, named)).status, 304, named);
  for (const named of ['"other"', tag.slice(1, -1), '']) t.equal((await get(target, named)).status, 200, named);
});

t.test('what is asked of all pools has no tag', async (t) => {
  const { get } = served();
  t.equal(tagOf(await get(`/orders?chainId=${CHAIN_ID}`)), '');
});

t.test('a refusal has no tag', async (t) => {
  const { get } = served();
  const refused = await get(`/quotes?${about}`);
  t.equal(refused.status, 400);
  t.equal(tagOf(refused), '');
});
