import t from 'tap';
import { rateLimited, refuse } from '../../src/http/responses.js';
import type { Caller, Route } from '../../src/http/router.js';
import { socketCalls } from '../../src/http/socket-calls.js';
import type { NetRequest, NetResponse } from '../../src/net/net.js';

const caller: Caller = { id: 'one', tier: 'paid' };
const isGone = (): boolean => false;

/** The routes, answering this; `seen`: the requests that came to them. */
function served(answer: (request: NetRequest) => NetResponse) {
  const seen: string[] = [];
  const handle = (request: NetRequest): NetResponse => {
    seen.push(`${request.method} ${request.path}?${request.query} ${Buffer.from(request.body).toString()}`);
    return answer(request);
  };
  const routes: Route[] = [
    { method: 'POST', path: '/quotes', needsKey: true, takesQuotes: true, handle },
    { method: 'DELETE', path: '/orderbook/quotes', needsKey: true, scope: 'operator', handle },
    { method: 'DELETE', path: '/quotes', needsKey: true, handle },
    { method: 'POST', path: '/quotes/restore', needsKey: true, handle },
  ];
  return { seen, carryOut: socketCalls(routes) };
}

const ok = (): NetResponse => ({ status: 201, headers: {}, body: '{"created":[]}' });

t.test('a call is the request of its route', async (t) => {
  const { seen, carryOut } = served(ok);
  const operator: Caller = { ...caller, scopes: ['operator'] };
  t.strictSame(await carryOut(caller, { name: 'POST_QUOTES', body: [1], isGone }), { ok: true, body: { created: [] } });
  await carryOut(caller, { name: 'DRY_RUN', body: [2], isGone });
  await carryOut(operator, { name: 'CANCEL_QUOTES', body: { quoteIds: [] }, isGone });
  await carryOut(caller, { name: 'WITHDRAW_QUOTES', body: { quoteIds: [1] }, isGone });
  await carryOut(caller, { name: 'RESTORE_QUOTES', body: { quoteIds: [2] }, isGone });
  t.strictSame(seen, [
    'POST /quotes? [1]',
    'POST /quotes?dryRun=true [2]',
    'DELETE /orderbook/quotes? {"quoteIds":[]}',
    'DELETE /quotes? {"quoteIds":[1]}',
    'POST /quotes/restore? {"quoteIds":[2]}',
  ]);
});

t.test('a key without the scope does not reach the route', async (t) => {
  const { seen, carryOut } = served(ok);
  const refused = await carryOut(caller, { name: 'CANCEL_QUOTES', body: {}, isGone });
  t.match(refused, { ok: false, code: 'missing_scope', errors: null, details: null });
  t.strictSame(seen, []);
});

t.test('an error has its code, its text and what it says besides', async (t) => {
  const { carryOut } = served((request) =>
    refuse(request, 'publication_not_confirmed', { message: 'Publication not confirmed yet', pending: ['0x01'] }),
  );
  t.strictSame(await carryOut(caller, { name: 'POST_QUOTES', body: [], isGone }), {
    ok: false,
    code: 'publication_not_confirmed',
    message: 'Publication not confirmed yet',
    errors: null,
    details: { pending: ['0x01'] },
  });
});

t.test('an error has when to try again, as the header of the HTTP answer says', async (t) => {
  const { carryOut } = served((request) => rateLimited(request, 2_500));
  t.match(await carryOut(caller, { name: 'POST_QUOTES', body: [], isGone }), {
    code: 'rate_limited',
    retryAfterMs: 3_000,
    details: null,
  });
});

t.test('a body that has not its schema is refused with what is wrong', async (t) => {
  const error = { keyword: 'type', instancePath: '/0', schemaPath: '#', params: {}, message: 'must be object' };
  const { carryOut } = served((request) => refuse(request, 'invalid_parameter', [error]));
  const refused = await carryOut(caller, { name: 'POST_QUOTES', body: [1], isGone });
  t.match(refused, { ok: false, code: 'invalid_parameter', errors: [error], details: null });
});

t.test('the route learns that the socket has closed', async (t) => {
  let isAborted = false;
  const { carryOut } = served((request) => {
    isAborted = request.aborted;
    return ok();
  });
  await carryOut(caller, { name: 'POST_QUOTES', body: [], isGone: () => true });
  t.ok(isAborted);
});
