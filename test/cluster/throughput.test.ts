import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { leadStream } from '../../bench/servers/stream-leader.js';
import { EngineLife } from '../../bench/workload/engine-life.js';
import { silent } from '../../bench/workload/log.js';
import { GatewayReplica } from '../../src/cluster/gateway-replica.js';
import { NatsLogStream } from '../../src/cluster/log-stream.js';
import { limits } from '../../src/config/limits.js';
import type { Command } from '../../src/engine/command.js';
import { systemClock } from '../../src/system/clock.js';
import { connectTo, natsServers } from './nats-servers.js';

const isLong = process.env.QUOTEBOOK_ROUNDS !== undefined;
const RECORDS = isLong ? 600_000 : 60_000;
const RESTING = 1_000;
/** Records that wait for their commit. */
const IN_FLIGHT = 8_000;
const PER_TURN = 200;
/** Goals are of an idle machine; a busy one may be slower here, and the rates are printed. */
const PATIENCE = Number(process.env.QUOTEBOOK_PATIENCE ?? 4);
const COMMITTED_PER_SECOND = 20_000;
const CAUGHT_UP_PER_SECOND = 50_000;

function* commands(): Generator<Command, never> {
  const life = new EngineLife();
  for (let n = 0; n < RESTING; n += 1) yield life.arrival();
  for (;;) yield* life.replacement();
}

interface Measured {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

async function measured(work: () => Promise<number>): Promise<Measured> {
  const startMs = performance.now();
  const cpu = process.cpuUsage();
  const records = await work();
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: Math.round((1000 * records) / (performance.now() - startMs)),
    perCpuSecond: Math.round((1e6 * records) / (user + system)),
  };
}

t.test('records are committed through three servers, and a gateway catches up with them', async (t) => {
  t.setTimeout(480_000);
  const servers = await natsServers(t);
  const { engine, submit, onCommit, close } = await leadStream(servers);
  t.teardown(close);
  const source = commands();
  let committedIndex = engine.index;
  onCommit((index) => (committedIndex = index));
  const commit = async (count: number): Promise<number> => {
    const last = engine.index + count;
    while (committedIndex < last) {
      for (let n = 0; n < PER_TURN && engine.index < last && engine.index - committedIndex < IN_FLIGHT; n += 1) {
        submit(source.next().value);
      }
      await nextTurn();
    }
    return count;
  };
  // The first are the compiler's.
  await commit(RECORDS / 10);
  const committed = await measured(() => commit(RECORDS));

  const gateway = await connectTo(t, servers, { member: 'gateway-1' });
  const onFault = (error: Error): void => void t.error(error);
  const catchUp = (): Promise<GatewayReplica> =>
    GatewayReplica.open({
      stream: new NatsLogStream(gateway),
      snapshots: null,
      clock: systemClock,
      limits,
      logger: silent,
      onFault,
    });
  (await catchUp()).stop();
  let stateHash = '';
  const caughtUp = await measured(async () => {
    const replica = await catchUp();
    replica.stop();
    stateHash = replica.engine.stateHash();
    return replica.engine.index;
  });
  t.comment(`${engine.index} records: committed ${JSON.stringify(committed)}, caught up ${JSON.stringify(caughtUp)}`);
  t.equal(stateHash, engine.stateHash(), 'the gateway comes to the same state');
  t.ok(committed.perSecond >= COMMITTED_PER_SECOND / PATIENCE, `${committed.perSecond} committed records/s`);
  t.ok(caughtUp.perSecond >= CAUGHT_UP_PER_SECOND / PATIENCE, `${caughtUp.perSecond} records/s caught up with`);
});
