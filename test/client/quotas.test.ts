import t from 'tap';
import { readQuotas } from '../../src/client/quotas.js';

t.test('what is left and how fast it returns are read of the two headers', async (t) => {
  const quotas = readQuotas('"requests";r=17;t=1, "quotes";r=3;t=60', '"requests";q=20;w=1, "quotes";q=120;w=60');
  t.strictSame(Object.fromEntries(quotas), {
    requests: { left: 17, perSecond: 20 },
    quotes: { left: 3, perSecond: 2 },
  });
});

t.test('a quota that either header lacks is left out', async (t) => {
  t.equal(readQuotas(null, null).size, 0);
  t.equal(readQuotas('"requests";r=17;t=1', null).size, 0);
  t.equal(readQuotas('requests', '"requests";q=20;w=1').size, 0);
});
