import t from 'tap';
import { answerMs } from '../../src/app/leader-calls.js';
import { limits } from '../../src/config/limits.js';
import { settingTable } from '../../src/config/setting-table.js';

t.test('a gateway waits for a publication longer than the leader may', async (t) => {
  const { maximum } = settingTable.publishTimeoutMs.schema as { readonly maximum?: number };
  t.ok(answerMs('publish', limits) > Number(maximum));
});

t.test('a gateway gives a call that reads less time than one that sends transactions', async (t) => {
  t.equal(answerMs('vaultQuote', limits), limits.clusterCallMs);
  t.equal(answerMs('settle', limits), limits.clusterTransactMs);
});
