import t from 'tap';
import {
  type PublishingRefusal,
  type PublishResult,
  publishRoute,
  type DryRunAnswer,
} from '../../src/http/publish-route.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { postedQuote } from '../wire/samples.js';
import { ask, requestOf } from './ask-route.js';

const chainId = '421613';
const limits = { bodyParts: 1_000, queryPairs: 5, quotesPerRequest: 10, schemaErrors: 5, checksPerTurn: 100 };

interface Serving {
  readonly left: number;
  readonly result: PublishResult;
  readonly refusal: PublishingRefusal | null;
  readonly dryRun: DryRunAnswer;
  readonly checksPerTurn: number;
}

/** The route, with so many quotes left to its caller, over a publisher that answers this. */
function served({
  left = Infinity,
  result,
  refusal = null,
  dryRun = { type: 'CHECKED', items: [] },
  checksPerTurn = 100,
}: Partial<Serving> = {}) {
  const seen = { submitted: 0, checked: 0 };
  let turns = 0;
  const route = publishRoute(
    {
      mostQuotes: () => 5,
      takeQuotes(_, count) {
        left -= count;
        return left < 0 ? 1_500 : 0;
      },
      refusal: () => refusal,
      async submit(_, quotes) {
        seen.submitted += quotes.length;
        return result ?? { type: 'ANSWERED', items: quotes.map(() => ({ type: 'FAILED', reason: 'not here' })) };
      },
      async dryRun(quotes) {
        seen.checked += quotes.length;
        return dryRun;
      },
    },
    new QuoteJson(chainId, 100),
    chainId,
    { ...limits, checksPerTurn },
    async () => {
      turns += 1;
    },
  );
  const post = (body: unknown, query = '') => ask([route], requestOf('POST', `/quotes${query}`, body));
  return { seen, turns: () => turns, post };
}

t.test('each quote is taken from what its caller has left, in a dry run, too', async (t) => {
  for (const query of ['', '?dryRun=true']) {
    const { seen, post } = served({ left: 3 });
    t.equal((await post([postedQuote, postedQuote], query)).status, 200);
    const refused = await post([postedQuote, postedQuote], query);
    t.match(refused, { status: 429, text: '{"message":"RATELIMITED"}', headers: { 'retry-after': '2' } });
    t.strictSame(seen, query === '' ? { submitted: 2, checked: 0 } : { submitted: 0, checked: 2 });
  }
});

t.test('more than fit at once are no matter of time, in a dry run neither', async (t) => {
  for (const query of ['', '?dryRun=true']) {
    const { seen, post } = served();
    const refused = await post(Array(6).fill(postedQuote), query);
    const message = 'must NOT have more than 5 items';
    t.match(
      [refused.status, JSON.parse(refused.text)],
      [400, [{ keyword: 'maxItems', params: { limit: 5 }, message }]],
    );
    t.notOk('retry-after' in refused.headers);
    t.equal((await post(Array(5).fill(postedQuote), query)).status, 200, 'nothing was taken');
    t.equal(seen.submitted + seen.checked, 5);
  }
});

t.test('a large batch gives others their turn before each kind of work, and among what is written', async (t) => {
  for (const [quotes, wanted] of [
    [2, 0],
    [3, 3 + 1],
    [5, 3 + 2],
  ] as const) {
    const { turns, post } = served({ checksPerTurn: 2 });
    t.equal((await post(Array(quotes).fill(postedQuote))).status, 200);
    t.equal(turns(), wanted, `${quotes} quotes`);
  }
});

t.test('a quote of another chain is refused with its place, and with it all others', async (t) => {
  const { seen, post } = served();
  const foreign = { ...postedQuote, chainId: '42161' };
  for (const [place, body] of [
    [foreign, postedQuote],
    [postedQuote, foreign],
  ].entries()) {
    const { status, text } = await post(body);
    t.match([status, JSON.parse(text)], [400, [{ keyword: 'enum', instancePath: `/${place}/chainId` }]]);
  }
  t.equal(seen.submitted, 0);
});

t.test('where nothing was created it is answered with 200', async (t) => {
  const answer = await served().post([postedQuote]);
  t.match(
    [answer.status, JSON.parse(answer.text)],
    [200, { created: [], failed: [{ reason: 'not here' }], exists: [] }],
  );
});

t.test('a wallet that has spent its cap is named, with when it may spend again', async (t) => {
  const result = { type: 'SPEND_CAP', wallet: '0xaa', retryAfterMs: 60_500 } as const;
  t.match(await served({ result }).post([postedQuote]), {
    status: 429,
    headers: { 'retry-after': '61' },
    text: '{"message":"The wallet 0xaa has spent what it may in a day"}',
  });
});

t.test('distinguishes the reasons that reject a whole request, with the time to retry', async (t) => {
  const later = { status: 503, headers: { 'retry-after': '1' } };
  const quoteId = `0x${'1d'.repeat(32)}` as const;
  const cases: [PublishResult, object][] = [
    [{ type: 'CHAIN_UNREACHABLE' }, { ...later, text: '{"message":"The chain does not answer"}' }],
    [{ type: 'QUEUE_FULL' }, { ...later, text: '{"message":"Too many quotes wait for their publication"}' }],
    [
      { type: 'NO_GAS_MONEY', wallet: '0xaa' },
      { ...later, text: '{"message":"The wallet 0xaa has no money for gas"}' },
    ],
    [
      { type: 'NOT_CONFIRMED', pending: [quoteId] },
      { status: 504, text: `{"message":"Publication not confirmed yet","pending":["${quoteId}"]}` },
    ],
  ];
  for (const [result, answer] of cases) t.match(await served({ result }).post([postedQuote]), answer, result.type);
  const silent = served({ dryRun: { type: 'CHAIN_UNREACHABLE' } });
  t.match(await silent.post([postedQuote], '?dryRun=true'), {
    ...later,
    text: '{"message":"The chain does not answer"}',
  });
});

t.test('what passes is to be tried again in a second, and what does not is not', async (t) => {
  const stale = await served({ refusal: { code: 'chain_unavailable', message: 'stale' } }).post([postedQuote]);
  t.match(stale, { status: 503, headers: { 'retry-after': '1' }, text: '{"message":"stale"}' });
  const without = await served({ refusal: { code: 'no_wallet', message: 'no wallet' } }).post([postedQuote]);
  t.match(without, { status: 501, text: '{"message":"no wallet"}' });
  t.notOk('retry-after' in without.headers);
});
