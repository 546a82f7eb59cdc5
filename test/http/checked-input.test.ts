import t from 'tap';
import { withAmounts, withBody, withQuery } from '../../src/http/checked-input.js';
import { json } from '../../src/http/responses.js';
import type { Caller, RouteHandler } from '../../src/http/router.js';
import { ChainId, closed, DecimalNumber, DecimalText } from '../../src/wire/primitives.js';
import { ask, requestOf } from './ask-route.js';

const terms = { chainId: '42161', limits: { bodyParts: 100, queryPairs: 10, schemaErrors: 1 } };
const bySize = closed({ chainId: ChainId, size: DecimalText });

/** The status with the error's code, or with the whole answer. */
async function answerOf(handle: RouteHandler<Caller>, target: string, body?: unknown) {
  const route = { method: 'POST', path: '/sized/{size}', needsKey: true, handle } as const;
  const request = { ...requestOf('POST', target, body), header: () => 'application/problem+json' };
  const { status, text } = await ask([route], request);
  const answer = JSON.parse(text) as { readonly code?: string };
  return [status, answer.code ?? answer];
}

t.test('hands over a query together with the parameters of its path', async (t) => {
  const handle = withQuery(bySize, { ...terms, path: '/sized/{size}' }, (_, { id }, { size }) =>
    json(`"${id} ${size}"`),
  );
  t.strictSame(await answerOf(handle, '/sized/2?chainId=42161'), [200, 'test 2']);
  t.strictSame(await answerOf(handle, '/sized/two?chainId=42161'), [400, 'invalid_parameter']);
  t.strictSame(await answerOf(handle, '/sized/2?chainId=%'), [400, 'malformed_query']);
});

t.test('refuses a query or a body of another chain', async (t) => {
  const query = withQuery(closed({ chainId: ChainId }), terms, () => json('1'));
  t.strictSame(await answerOf(query, '/sized/2?chainId=421613'), [400, 'unsupported_chain']);
  const body = withBody(closed({ chainId: ChainId }), terms, () => json('1'));
  t.strictSame(await answerOf(body, '/sized/2', { chainId: '421613' }), [400, 'unsupported_chain']);
  t.strictSame(await answerOf(body, '/sized/2', { chainId: '42161' }), [200, 1]);
});

t.test('refuses a body with amounts for its query first, and for a number that would be rounded last', async (t) => {
  const handle = withAmounts(closed({ size: DecimalNumber }), terms, (_, __, { size }) => json(String(size)));
  t.strictSame(await answerOf(handle, '/sized/2?dryRun=true', '{'), [400, 'invalid_parameter']);
  t.strictSame(await answerOf(handle, '/sized/2', '{'), [400, 'malformed_body']);
  t.strictSame(await answerOf(handle, '/sized/2', '{"size":0.10000000000000000001}'), [400, 'invalid_parameter']);
  t.strictSame(await answerOf(handle, '/sized/2', { size: 0.5 }), [200, 0.5]);
});
