import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pino from 'pino';
import t from 'tap';
import { startService } from '../../src/app/service.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { arbitrumGoerli } from '../../src/chain/contracts/deployments.js';
import { RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import { IntentLog } from '../../src/chain/wallet/intent-log.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { systemRandom } from '../../src/system/clock.js';
import { MemoryKeyFiles } from '../auth/memory-key-files.js';
import { MemoryKeyValueStore } from '../chain/memory-key-value-store.js';
import { MemoryJournal } from '../engine/memory-journal.js';
import { newEngine } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

t.test('where the port is taken, the wallet does not go on with what an earlier run left', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const values = new MemoryKeyValueStore();
  const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n };
  await new IntentLog(values).write({
    nonce: 5,
    to: `0x${'1'.repeat(40)}`,
    data: '0x',
    gas: 21_000n,
    versions: [fees],
  });
  const intents = new IntentLog(values.reopened());
  const clock = new ManualClock();
  let requests = 0;
  const rpc = {
    request() {
      requests += 1;
      return Promise.reject(new RpcUnreachable('No answer'));
    },
  };
  const service = startService({
    profile: arbitrumGoerli,
    rpc: { settlement: rpc, stream: rpc },
    operator: { privateKey: `0x${'2'.repeat(64)}`, intents: { settlement: intents, stream: intents } },
    engine: newEngine(),
    journal: new MemoryJournal(),
    epoch: '00000000000000e2',
    history: null,
    keys: await KeyStore.open({ files: new MemoryKeyFiles(), clock, random: systemRandom, cacheSize: 10 }),
    clock,
    random: systemRandom,
    limits,
    metrics: null,
    tierQuotas,
    host: '127.0.0.1',
    port: (other.address() as AddressInfo).port,
    netBackend: 'node',
    corsOrigins: [],
    logger: pino({ level: 'silent' }),
    onFault: (error) => t.fail(String(error)),
  });
  await t.rejects(service, { name: 'CannotListen', cause: { code: 'EADDRINUSE' } });
  t.ok(requests > 0, 'it had begun');
  t.equal(clock.pending, 0, 'and waits for no receipt');
});
