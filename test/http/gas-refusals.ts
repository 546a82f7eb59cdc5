import type { Test } from 'tap';
import type { Route } from '../../src/http/router.js';
import type { GasRefusal } from '../../src/quota/gas-budget.js';
import { ask, requestOf } from './ask-route.js';

const refusals = [
  [{ type: 'OVER_BUDGET', retryAfterMs: 60_500 }, 'RATELIMITED'],
  [
    { type: 'OPERATOR_CAP', spender: 'POST /x', retryAfterMs: 60_500 },
    "The operator's wallet has spent what POST /x may in a day",
  ],
  [{ type: 'SPEND_CAP', wallet: '0xaa', retryAfterMs: 60_500 }, 'The wallet 0xaa has spent what it may in a day'],
] as const;

/** A key over its budget, and any key while the wallet is at its cap, gets 429 with `retry-after`. */
export async function tellsWhenToComeAgain(
  t: Test,
  routesOf: (refusal: GasRefusal) => readonly Route[],
  path: string,
  body: unknown,
): Promise<void> {
  for (const [refusal, message] of refusals) {
    const { status, headers, text } = await ask(routesOf(refusal), requestOf('POST', path, body));
    t.strictSame([status, headers['retry-after'], JSON.parse(text)], [429, '61', { message }]);
  }
}
