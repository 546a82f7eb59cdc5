import pino from 'pino';
import t from 'tap';
import { answerMs, leaderCalls } from '../../src/app/leader-calls.js';
import { type LocalCore, openLocalCore } from '../../src/app/local-core.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { LocalProofStore, type ProofStore } from '../../src/auth/proof-store.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { settingTable } from '../../src/config/setting-table.js';
import type { Hex } from '../../src/engine/quote.js';
import { Quotas } from '../../src/quota/rate-limits.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import type { PacedWork } from '../../src/system/paced-work.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { Market } from '../chain/dev/market.js';
import { httpRpc, newOperator } from '../chain/following.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { newEngine } from '../engine/samples.js';

t.test('a gateway waits for a publication longer than the leader may', async (t) => {
  const { maximum } = settingTable.publishTimeoutMs.schema as { readonly maximum?: number };
  t.ok(answerMs('publish', limits) > Number(maximum));
});

t.test('a gateway gives a call that reads less time than one that sends transactions', async (t) => {
  t.equal(answerMs('vaultQuote', limits), limits.clusterCallMs);
  t.equal(answerMs('settle', limits), limits.clusterTransactMs);
});

t.test(
  'a leader pays for nothing before it has read the chains: what it is sent may be published already',
  async (t) => {
    const market = await Market.open(t);
    const rpc = httpRpc([market.chain.rpcUrl]);
    const common = { clock: systemClock, random: systemRandom, limits: { ...limits, chainPollMs: 20 } };
    const onFault = (error: unknown): void => void t.error(error);
    const keys = await KeyStore.open({ ...common, files: new MemoryKeyFiles(), cacheSize: 1 });
    t.teardown(() => keys.close());
    const core = await openLocalCore(
      {
        ...common,
        profile: market.chain.profile,
        rpc: { settlement: rpc, stream: rpc },
        operator: newOperator(market.operator.privateKey),
        engine: newEngine(limits.reorgDepth),
        journal: new MemoryJournal(),
        logger: pino({ level: 'silent' }),
        metrics: null,
        keys,
        onFault,
      },
      new Quotas(tierQuotas, 1, () => undefined),
      onFault,
    );
    t.teardown(() => core.stop());
    const leader = leaderCalls(core, 1 << 20, new LocalProofStore(keys, systemClock, limits));
    const { pool, ...offer } = await market.sign(market.pool('testWETH', 1800n, true));
    const publish = () => leader.publish({ id: 'key', tier: 'paid' }, [{ ...offer, poolKey: pool.poolKey }]);
    const spent = () => market.client.getTransactionCount({ address: market.operator.address });
    const before = await spent();

    t.strictSame(await publish(), { type: 'CHAIN_UNREACHABLE' });
    t.equal(await spent(), before);
    core.start();
    await core.ready;
    t.match(await publish(), { type: 'ANSWERED', items: [{ type: 'CREATED' }] });
    t.equal(await spent(), before + 1);
  },
);

t.test('a gateway learns how many calls its request for positions made', async (t) => {
  const accounts = {
    options(_: Hex, work: Pick<PacedWork, 'charge'>) {
      work.charge(1_280, 0);
      work.charge(20, 0);
      return Promise.resolve({ type: 'READ', value: [] });
    },
  };
  const leader = leaderCalls({ accounts } as unknown as LocalCore, 1 << 20, {} as ProofStore);
  t.strictSame(await leader.optionBalances('0xaa'), { type: 'READ', value: [], calls: 1_300 });
});
