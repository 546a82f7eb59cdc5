import { headers } from '@nats-io/transport-node';
import t from 'tap';
import { IntentLog } from '../../src/chain/wallet/intent-log.js';
import type { TxIntent } from '../../src/chain/wallet/transaction.js';
import { LeaderValues } from '../../src/cluster/kept-values.js';
import { GasBudget } from '../../src/quota/gas-budget.js';
import { systemClock } from '../../src/system/clock.js';
import { until } from '../until.js';
import { connectTo, natsServers } from './nats-servers.js';

const RETRY_MS = 50;

function intent(nonce: number): TxIntent {
  const versions = [{ maxFeePerGas: 3n, maxPriorityFeePerGas: 1n }];
  return { nonce, to: `0x${'ab'.repeat(20)}`, data: '0x01', gas: 21_000n, versions };
}

t.test('a new leader has the intents of the one before, which can change them no more', async (t) => {
  const servers = await natsServers(t);
  const lead = async (member: string, term: number, onFault: (error: Error) => void) =>
    LeaderValues.open(await connectTo(t, servers, { member }), term, systemClock, RETRY_MS, onFault);
  const faults: Error[] = [];
  const first = new IntentLog((await lead('engine-1', 1, (error) => faults.push(error))).of('intents'));
  for (const nonce of [7, 8, 9]) await first.write(intent(nonce));
  await first.forget(8);

  const second = new IntentLog((await lead('engine-2', 2, (error) => t.error(error))).of('intents'));
  t.strictSame(second.kept, [intent(7), intent(9)], 'in the order of nonces, without the final one');
  await t.rejects(first.write(intent(10)), 'so the deposed leader signs nothing');
  t.match(faults, [{ code: 'DEPOSED' }]);
  await second.write(intent(10));

  // A node is lost: the changes go on, and each is there once.
  await servers.nodes[0]?.kill('SIGKILL');
  await second.forget(7);
  await second.write(intent(11));
  const third = new IntentLog((await lead('engine-3', 3, (error) => t.error(error))).of('intents'));
  t.strictSame(
    third.kept.map(({ nonce }) => nonce),
    [9, 10, 11],
  );
});

t.test('a new leader has what keys have used of their days, and the one before charges them no more', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const key = { id: 'a', tier: 'paid' } as const;
  const lead = async (member: string, term: number): Promise<GasBudget> => {
    const cluster = await connectTo(t, servers, { member, unsafe: true });
    const values = await LeaderValues.open(cluster, term, systemClock, RETRY_MS, () => undefined);
    return new GasBudget({
      of: () => ({ quotesPerDay: 3, gasPerDay: 1_000_000 }),
      nowMs: () => 0,
      kept: values.of('budgets'),
      onCharged: () => undefined,
      onRefusal: () => undefined,
    });
  };
  const first = await lead('engine-1', 1);
  t.equal(first.take(key, 2), 0);
  await first.settle(key, 2, 2, 0);
  const second = await lead('engine-2', 2);
  t.ok(second.take(key, 2) > 0, 'one of three is left');
  t.equal(first.take(key, 1), 0);
  await first.settle(key, 1, 1, 0);
  t.notOk(first.canKeep(key), 'so the deposed leader sends nothing');
  t.equal((await lead('engine-3', 3)).take(key, 1), 0);
});

t.test('a new leader reads the values that are kept, not a message for each that was ever removed', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const connect = (member: string) => connectTo(t, servers, { member, unsafe: true });
  const lead = async (cluster: Awaited<ReturnType<typeof connect>>, term: number) =>
    new IntentLog(
      (await LeaderValues.open(cluster, term, systemClock, RETRY_MS, (error) => t.error(error))).of('intents'),
    );
  const cluster = await connect('engine-1');
  const bucket = cluster.names.stateBucket;
  const messages = async (): Promise<number> => (await cluster.jsm.streams.info(`KV_${bucket}`)).state.messages;
  const REMOVED = 100;
  const KEPT = 2;
  const first = await lead(cluster, 1);
  for (let nonce = 0; nonce < REMOVED + KEPT; nonce += 1) {
    await first.write(intent(nonce));
    if (nonce < REMOVED) await first.forget(nonce);
  }
  await until(async () => (await messages()) === KEPT + 1);
  // What a leader before this one, or one that was killed, left.
  const removal = headers();
  removal.set('KV-Operation', 'DEL');
  for (let nonce = 1_000; nonce < 1_000 + REMOVED; nonce += 1) {
    await cluster.js.publish(`$KV.${bucket}.intents/${nonce}`, '', { headers: removal });
  }
  await lead(await connect('engine-2'), 2);
  await until(async () => (await messages()) === KEPT + 1);

  const third = await connect('engine-3');
  const { outMsgs } = third.nats.stats();
  const { kept } = await lead(third, 3);
  const requests = third.nats.stats().outMsgs - outMsgs;
  t.strictSame(kept, [intent(REMOVED), intent(REMOVED + 1)]);
  t.ok(requests < 20, `${requests} requests after ${2 * REMOVED} removals`);
});
