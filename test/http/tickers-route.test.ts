import t from 'tap';
import type { LargeAnswers } from '../../src/http/answer.js';
import { tickersRoute } from '../../src/http/tickers-route.js';
import { ask, requestOf } from './ask-route.js';

const CHAIN_ID = '421613';
const target = `/tickers?chainId=${CHAIN_ID}`;
const limits = { queryPairs: 20, schemaErrors: 5, rowsPerSlice: 2 };

/** So many tickers, two in a piece. */
function tickers(tickerCount: number) {
  return {
    tickerCount,
    *tickersJson() {
      yield { rows: 0, text: '[' };
      for (let n = 0; n < tickerCount; n += 2) yield { rows: 2, text: n > 0 ? ',1,2' : '1,2' };
      yield { rows: 0, text: ']' };
    },
  };
}

/** Notes turns and what is charged. */
function answering(): { answers: LargeAnswers; log: string[] } {
  const log: string[] = [];
  const work = {
    turn: async () => void log.push('turn'),
    charge: (rows: number, bytes: number) => void log.push(`${rows} rows, ${bytes} bytes`),
  };
  return { answers: { run: async (_, make) => make(work) }, log };
}

t.test('few tickers are answered at once', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute(tickers(2), CHAIN_ID, limits, answers)];
  t.match(await ask(routes, requestOf('GET', target)), { status: 200, text: '[1,2]' });
  t.strictSame(log, []);
});

t.test('many are written in slices that are charged', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute(tickers(4), CHAIN_ID, limits, answers)];
  t.match(await ask(routes, requestOf('GET', target)), { status: 200, text: '[1,2,1,2]' });
  t.strictSame(log, ['2 rows, 3 bytes', 'turn', '2 rows, 4 bytes', 'turn']);
});

t.test('many are refused where too many large answers of the key wait', async (t) => {
  const routes = [tickersRoute(tickers(4), CHAIN_ID, limits, { run: () => ({ retryAfterMs: 1_000 }) })];
  t.match(await ask(routes, requestOf('GET', target)), { status: 429, headers: { 'retry-after': '1' } });
});

t.test('another chain is refused before anything is written', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute(tickers(4), CHAIN_ID, limits, answers)];
  t.equal((await ask(routes, requestOf('GET', '/tickers?chainId=1'))).status, 400);
  t.strictSame(log, []);
});

t.test('nothing is written for a client that went away while it waited', async (t) => {
  const { answers, log } = answering();
  const routes = [tickersRoute(tickers(4), CHAIN_ID, limits, answers)];
  await ask(routes, { ...requestOf('GET', target), aborted: true });
  t.strictSame(log, []);
});
