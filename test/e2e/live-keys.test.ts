import t from 'tap';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';

const paid = { ...tierQuotas.paid, channels: 1 };
const running = await startTestService({ walletKey: null, tierQuotas: { ...tierQuotas, paid } });
t.teardown(() => running.stop());
const { httpUrl, wsUrl, service } = running;
const filter = (channel: string) => ({ type: 'FILTER', channel, body: { chainId: '421613' } });

/** The keys as another process has them: `quotebook keys` beside a running server. */
const elsewhere = await KeyStore.open({
  files: new DiskKeyFiles(running.dataDir, systemClock, limits.keyUpdateMs, lockFile),
  clock: systemClock,
  random: systemRandom,
  cacheSize: 1,
});

async function authorized(key: string): Promise<SocketClient> {
  const socket = await SocketClient.open(wsUrl);
  t.teardown(() => socket.end());
  t.match(await socket.auth(key), { type: 'INFO' });
  return socket;
}

await t.test('changes elsewhere are looked for more often than every five seconds', async (t) => {
  t.ok(limits.keyWatchMs + limits.settingsWatchMs <= 5_000);
});

await t.test('a key that is revoked elsewhere loses its open sockets and its answers', async (t) => {
  const [mine, other] = [await running.keys.create('free', 'revoked'), await running.keys.create('free', 'kept')];
  const socket = await authorized(mine.key);
  const kept = await authorized(other.key);
  const rest = new RestClient(httpUrl, mine.key);
  t.equal((await rest.get('/orders?chainId=421613')).status, 200);
  const closed = socket.closed();
  await elsewhere.revoke(mine.id);
  t.equal(await closed, 1008);
  t.strictSame((await rest.get('/orders?chainId=421613')).body, { message: 'NOT_FOUND' });
  t.match(await kept.ask(filter('RFQ')), { type: 'INFO' }, 'others go on');
});

await t.test('a key whose tier is changed elsewhere is held to its new quotas', async (t) => {
  const { id, key } = await running.keys.create('free', 'changed');
  const [first, second] = [await authorized(key), await authorized(key)];
  t.match(await first.ask(filter('RFQ')), { type: 'INFO' });
  t.match(await second.ask(filter('RFQ')), { type: 'INFO' });
  const closed = second.closed();
  await elsewhere.changeTier(id, 'paid');
  t.equal(await closed, 1008, 'the newest socket is beyond it');
  t.match(await first.ask(filter('QUOTES')), {
    type: 'ERROR',
    message: 'Too many channels: at most 1 with one key',
  });
  const { headers } = await new RestClient(httpUrl, key).get('/orders?chainId=421613');
  t.match(headers.get('ratelimit-policy'), `"requests";q=${paid.requestsPerSecond};w=1`);
});

await t.test('other quotas hold from the moment on that they are adopted', async (t) => {
  const { key } = await running.keys.create('free', 'table');
  const sockets = [await authorized(key), await authorized(key)];
  const closed = sockets[1]?.closed();
  service.adoptQuotas({
    ...tierQuotas,
    paid,
    free: { ...tierQuotas.free, connections: 1, messagesPerSecond: 1, requestsPerSecond: 3 },
  });
  t.equal(await closed, 1008);
  // Both are sent at once, so that no second passes between them.
  const answers = await Promise.all([sockets[0]?.ask(filter('RFQ')), sockets[0]?.ask(filter('RFQ'))]);
  t.match(answers, [{ type: 'INFO' }, { type: 'ERROR', message: 'RATELIMITED' }]);
  const { headers } = await new RestClient(httpUrl, key).get('/orders?chainId=421613');
  t.match(headers.get('ratelimit-policy'), '"requests";q=3;w=1');
});
