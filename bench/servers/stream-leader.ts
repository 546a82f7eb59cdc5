import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ClusterConnection } from '../../src/cluster/connection.js';
import { EngineLog } from '../../src/cluster/engine-log.js';
import { openLogStream } from '../../src/cluster/log-stream.js';
import { limits } from '../../src/config/limits.js';
import type { Command } from '../../src/engine/command.js';
import type { Engine } from '../../src/engine/engine.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { EPOCH_BYTES } from '../../src/persistence/format/header.js';
import { SnapshotProcess } from '../../src/persistence/snapshot/snapshot-process.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { benchLogOptions, silent } from '../workload/log.js';
import { START_SECONDS } from '../workload/quotes.js';
import { connectMember, type NatsServers } from './nats-servers.js';

export interface StreamLeader {
  readonly cluster: ClusterConnection;
  readonly engine: Engine;
  readonly term: number;
  readonly acknowledgedSeq: () => number;
  /** Hears of every record that is on this process's disk and on a quorum of the servers. */
  readonly onCommit: (listener: (index: number) => void) => void;
  readonly submit: (command: Command) => void;
  readonly close: () => Promise<void>;
}

/** The log of a leading engine, and nothing of an engine beside it: it commits the commands that it is given. */
export async function leadStream(servers: NatsServers): Promise<StreamLeader> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-stream-'));
  const onFault = (error: Error): never => {
    throw error;
  };
  const cluster = await connectMember(servers);
  const log = await EngineLog.open({
    clock: systemClock,
    logger: silent,
    limits,
    onFault,
    stream: await openLogStream(cluster),
    disk: await openNodeDisk(directory),
    member: 'engine-1',
    identity: {},
    reorgDepth: limits.reorgDepth,
    epochBytes: EPOCH_BYTES,
    random: systemRandom,
  });
  const maker = new SnapshotProcess(directory, limits.snapshotMs, silent);
  const led = await log.lead({ ...benchLogOptions(maker, false), identity: {} }, () => true, onFault);
  if (led === null) throw new Error('another engine leads');
  const { journal, publisher, term } = led;
  const { engine } = log;
  return {
    cluster,
    engine,
    term,
    acknowledgedSeq: () => publisher.acknowledgedSeq,
    onCommit: (listener) => journal.onCommit(listener),
    submit(command) {
      const stamp = { index: engine.index + 1, tsMs: START_SECONDS * 1000 };
      journal.append({ stamp, command, events: engine.apply(command, stamp) });
    },
    async close() {
      await journal.flush();
      publisher.stop();
      await led.log.close();
      await cluster.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
