import fc from 'fast-check';
import t from 'tap';
import { InvalidReason } from '../../src/engine/quote.js';
import { EngineTime, Sequencer } from '../../src/engine/sequencer.js';
import type { NetRequest } from '../../src/net/net.js';
import type { OrdersResult } from '../../src/wire/orderbook.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { CommandMaker, MAKERS, POOLS, steps, TAKERS } from '../engine/random-commands.js';
import { at, enter, newEngine, originAt, POOL, quoteIdOf, sampleQuote, START, TAKER } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';
import { ask, requestOf } from './ask-route.js';
import { CHAIN_ID, orderbookOver } from './orderbook-over.js';

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
      const { invalidQuotes } = JSON.parse((await get(`/orders?${about}`)).text) as OrdersResult;
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
