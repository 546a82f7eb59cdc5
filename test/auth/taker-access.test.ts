import t from 'tap';
import { TakerAccess } from '../../src/auth/taker-access.js';
import { ZERO_ADDRESS } from '../../src/engine/quote.js';
import { address } from '../ws/gateway-fixture.js';

const [taker, other, operator] = [address(0xa), address(0xb), address(0xc)];

t.test('where privacy is open every viewer sees every taker', async (t) => {
  const access = new TakerAccess('open', () => null);
  for (const asked of [null, ZERO_ADDRESS, taker, '*'] as const) t.ok(access.maySee({}, asked));
  t.notOk(access.hasProven({}, taker), 'and yet has proven none');
});

t.test('where it is proven a viewer sees the takers that it has proven, and what is public', async (t) => {
  const access = new TakerAccess('proven', () => operator);
  const viewer = { proven: [taker] };
  t.strictSame(
    [null, ZERO_ADDRESS, taker, other, operator, '*' as const].map((asked) => access.maySee(viewer, asked)),
    [true, true, true, false, false, false],
  );
});

t.test('a private quote is shown to its provider, too', async (t) => {
  const access = new TakerAccess('proven', () => operator);
  const quote = { provider: other, taker };
  t.ok(access.maySeeQuote({ proven: [taker] }, quote));
  t.ok(access.maySeeQuote({ proven: [other] }, quote));
  t.ok(access.maySeeQuote({ scopes: ['operator'] }, { provider: operator, taker }));
  t.notOk(access.maySeeQuote({ scopes: ['operator'] }, quote));
  t.notOk(access.maySeeQuote({}, quote));
  t.ok(access.maySeeQuote({}, { provider: other, taker: ZERO_ADDRESS }));
});

t.test('the scope takers:all sees every taker, the scope operator the wallet that it acts with', async (t) => {
  const access = new TakerAccess('proven', () => operator);
  t.strictSame(
    ([taker, operator, '*'] as const).map((asked) => access.maySee({ scopes: ['takers:all'] }, asked)),
    [true, true, true],
  );
  t.strictSame(
    ([taker, operator, '*'] as const).map((asked) => access.maySee({ scopes: ['operator'] }, asked)),
    [false, true, false],
  );
  t.notOk(access.hasProven({ scopes: ['takers:all'] }, taker), 'to see is not to own');
});
