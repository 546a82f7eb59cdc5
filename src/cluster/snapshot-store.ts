import { type ObjectStore, Objm } from '@nats-io/obj';
import { type ReadSnapshot, readSnapshotBytes } from '../persistence/snapshot/snapshot-file.js';
import { type ClusterConnection, replicasOf, streamInfo } from './connection.js';
import type { StreamPoint } from './log-follower.js';

/** A snapshot of the log in the object store. */
export interface StoredSnapshot {
  readonly name: string;
  /** From where a reader of the stream goes on with its state. The place may be before the snapshot's last group. */
  readonly at: StreamPoint;
}

/** Where members find the snapshots of a cluster's log. */
export interface SnapshotSource {
  /** Of that log, the newest first. */
  list(epoch: Buffer): Promise<readonly StoredSnapshot[]>;
  /** Throws PersistenceError DAMAGED where it is not as it was written. */
  read(name: string): Promise<ReadSnapshot>;
}

const PREFIX = 'snapshot-';

/**
 * Snapshots of the log in an object store of NATS, so that a gateway does not have to read the log from its first
 * record on. The leader puts there what its own log's snapshots hold.
 */
export class SnapshotStore implements SnapshotSource {
  readonly #store: ObjectStore;

  static async open({ js, names, options }: ClusterConnection): Promise<SnapshotStore> {
    const replicas = replicasOf(options);
    return new SnapshotStore(await new Objm(js).create(names.snapshotsBucket, { replicas }));
  }

  /** Where an engine has made the store, and this member may only read it; null: no engine has. */
  static async attach(cluster: ClusterConnection): Promise<SnapshotStore | null> {
    const { js, names } = cluster;
    const found = await streamInfo(cluster, `OBJ_${names.snapshotsBucket}`);
    return found === null ? null : new SnapshotStore(await new Objm(js).open(names.snapshotsBucket, false));
  }

  private constructor(store: ObjectStore) {
    this.#store = store;
  }

  async list(epoch: Buffer): Promise<readonly StoredSnapshot[]> {
    const stored: StoredSnapshot[] = [];
    for (const { name, metadata, deleted } of await this.#store.list()) {
      if (deleted || metadata?.epoch !== epoch.toString('hex')) continue;
      const at = pointIn(metadata);
      if (at !== null) stored.push({ name, at });
    }
    return stored.sort((a, b) => b.at.point.index - a.at.point.index);
  }

  async read(name: string): Promise<ReadSnapshot> {
    const bytes = await this.#store.getBlob(name);
    return readSnapshotBytes(Buffer.from(bytes ?? new Uint8Array()), name);
  }

  /** Keeps the newest `kept`. */
  async put(epoch: Uint8Array, { seq, term, point }: StreamPoint, bytes: Uint8Array, kept: number): Promise<void> {
    const { index, seq: eventSeq, group, chain } = point;
    const metadata = {
      epoch: Buffer.from(epoch).toString('hex'),
      chain: chain.toString('hex'),
      ...textOf({ seq, term, index, eventSeq, group }),
    };
    await this.#store.putBlob({ name: `${PREFIX}${index}`, metadata }, bytes);
    for (const { name } of (await this.list(Buffer.from(epoch))).slice(kept)) await this.#store.delete(name);
  }
}

function textOf(numbers: Readonly<Record<string, number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, `${value}`]));
}

/** Null: a newer program's, or not ours. */
function pointIn(metadata: Readonly<Record<string, string>>): StreamPoint | null {
  const number = (name: string): number => Number(metadata[name] ?? NaN);
  const point = { index: number('index'), seq: number('eventSeq'), group: number('group') };
  const place = { seq: number('seq'), term: number('term') };
  if (![...Object.values(point), ...Object.values(place)].every(Number.isSafeInteger)) return null;
  return { ...place, point: { ...point, chain: Buffer.from(metadata.chain ?? '', 'hex') } };
}
