import { type KV, Kvm } from '@nats-io/kv';
import { headers } from '@nats-io/transport-node';
import type { KeyFiles } from '../auth/key-file.js';
import type { Clock } from '../engine/ports.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import { mapLimit, pause } from '../system/timers.js';
import {
  type ClusterConnection,
  ClusterError,
  isUnanswered,
  isWrongLastSequence,
  publishServed,
  replicasOf,
} from './connection.js';

const OPERATION = 'KV-Operation';

/** Replicated like the log, for as long as it is wanted. */
function createBucket({ js, options }: ClusterConnection, name: string): Promise<KV> {
  return new Kvm(js).create(name, { history: 1, replicas: replicasOf(options) });
}

/**
 * Values that only the leader changes, in a bucket of NATS KV: what keys and wallets have used of their days, what a
 * wallet means to send. Each change names the bucket's last sequence, and a new leader's first act is a change of its
 * own: from then on every change of a deposed one is rejected. A change resolves once a quorum has synced it;
 * until then it is sent again, for as long as the connection is open.
 */
export class LeaderValues {
  readonly #cluster: ClusterConnection;
  readonly #clock: Clock;
  readonly #retryMs: number;
  readonly #bucket: string;
  readonly #found: ReadonlyMap<string, unknown>;
  readonly #onFault: (error: Error) => void;
  #lastSeq: number;
  #turn: Promise<void> = Promise.resolve();
  #failed: Error | null = null;
  readonly #removals: Removal[] = [];
  #isPurging = false;

  /**
   * To be called by the leader of `term`, and by nobody before it leads. Waits while the servers elect a leader of the
   * bucket: the one before may have gone together with the engine that led.
   */
  static async open(
    cluster: ClusterConnection,
    term: number,
    clock: Clock,
    retryMs: number,
    onFault: (error: Error) => void,
  ): Promise<LeaderValues> {
    for (;;) {
      try {
        return await LeaderValues.#openOnce(cluster, term, clock, retryMs, onFault);
      } catch (error) {
        // A deposed leader was faster; it is not after this.
        const isRejected = isWrongLastSequence(error);
        if (!isRejected && (!isUnanswered(error) || cluster.nats.isClosed())) throw error;
        if (!isRejected) await pause(clock, retryMs);
      }
    }
  }

  static async #openOnce(...args: Parameters<typeof LeaderValues.open>): Promise<LeaderValues> {
    const [cluster, term, clock, retryMs, onFault] = args;
    const { js, jsm, names } = cluster;
    await createBucket(cluster, names.stateBucket);
    const stream = `KV_${names.stateBucket}`;
    const { last_seq: lastSequence } = (await jsm.streams.info(stream)).state;
    const subject = `$KV.${names.stateBucket}.${TERM_KEY}`;
    const { seq } = await js.publish(subject, `${term}`, { expect: { lastSequence } });
    const { values, removals } = await readAll(cluster, stream);
    const opened = new LeaderValues(cluster, clock, retryMs, onFault, seq, values);
    for (const removal of removals) opened.#purge(removal);
    return opened;
  }

  private constructor(
    cluster: ClusterConnection,
    clock: Clock,
    retryMs: number,
    onFault: (error: Error) => void,
    lastSeq: number,
    found: ReadonlyMap<string, unknown>,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#retryMs = retryMs;
    this.#onFault = onFault;
    this.#bucket = cluster.names.stateBucket;
    this.#lastSeq = lastSeq;
    this.#found = found;
  }

  /** The values under names that begin with `prefix`. */
  of(prefix: string): KeyValueStore {
    const start = `${prefix}/`;
    const found = new Map<string, unknown>();
    for (const [name, value] of this.#found) if (name.startsWith(start)) found.set(name.slice(start.length), value);
    return {
      found,
      put: (key, value) => this.#change(`${start}${key}`, Buffer.from(JSON.stringify(value)), false),
      remove: (key) => this.#change(`${start}${key}`, Buffer.alloc(0), true),
    };
  }

  /** One after another, so that each knows the sequence of the one before. */
  #change(name: string, value: Buffer, isRemoval: boolean): Promise<void> {
    const change = (): Promise<void> => this.#publish(name, value, isRemoval);
    const changed = this.#turn.then(change, change);
    this.#turn = changed.catch(() => undefined);
    return changed;
  }

  async #publish(name: string, value: Buffer, isRemoval: boolean): Promise<void> {
    const { js, jsm, nats } = this.#cluster;
    const head = headers();
    if (isRemoval) head.set(OPERATION, 'DEL');
    const subject = `$KV.${this.#bucket}.${keyOf(name)}`;
    const msgID = `${this.#lastSeq}-${name}`;
    for (;;) {
      if (this.#failed !== null) throw this.#failed;
      if (nats.isClosed()) throw new ClusterError('UNREACHABLE', 'the connection to NATS was closed before the change');
      try {
        const expect = { lastSequence: this.#lastSeq };
        const { seq } = await js.publish(subject, value, { headers: head, msgID, expect });
        this.#lastSeq = seq;
        if (isRemoval) this.#purge({ subject, seq });
        return;
      } catch (error) {
        const isRejected = isWrongLastSequence(error);
        const found = await jsm.streams
          .getMessage(`KV_${this.#bucket}`, { seq: this.#lastSeq + 1 })
          .catch(() => undefined);
        if (found?.subject === subject && Buffer.from(found.data).equals(value)) {
          this.#lastSeq += 1;
          if (isRemoval) this.#purge({ subject, seq: this.#lastSeq });
          return;
        }
        if (isRejected && found != null) {
          this.#failed = new ClusterError('DEPOSED', 'another leader has changed what wallets and keys have used');
          this.#onFault(this.#failed);
          throw this.#failed;
        }
      }
      await pause(this.#clock, this.#retryMs);
    }
  }

  /**
   * The bucket keeps a message for each value that was ever removed, and a new leader reads all messages: without this a
   * takeover would read one for each transaction that the wallet ever sent. By its sequence: a change that another
   * leader made of the same value meanwhile stays.
   */
  #purge(removal: Removal): void {
    if (this.#removals.length < MOST_REMOVALS) this.#removals.push(removal);
    if (!this.#isPurging) void this.#purgeAll();
  }

  /** One after another. A removal that fails is left for the next leader. */
  async #purgeAll(): Promise<void> {
    const { jsm, nats } = this.#cluster;
    this.#isPurging = true;
    for (let next = this.#removals.shift(); next !== undefined && !nats.isClosed(); next = this.#removals.shift()) {
      const { subject, seq } = next;
      await jsm.streams.purge(`KV_${this.#bucket}`, { filter: subject, seq: seq + 1 }).catch(() => undefined);
    }
    this.#isPurging = false;
  }
}

/** The message that says that a value was removed. */
interface Removal {
  readonly subject: string;
  readonly seq: number;
}

/** Removals that wait to be purged. Beyond it, a server that does not answer leaves them to the next leader. */
const MOST_REMOVALS = 10_000;

/** Values that are read at the same time: a leader waits for all of them before it takes its first write. */
const READS_IN_FLIGHT = 64;

const TERM_KEY = 'term';

/** Every character that a key may not have as `=` and its code. */
function keyOf(name: string): string {
  return name.replace(/[^A-Za-z0-9_/-]/g, (character) => `=${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function nameOf(key: string): string {
  return key.replace(/=([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** By the word of the stream's own leader: another replica may be behind. */
async function readAll(
  { jsm, names }: ClusterConnection,
  stream: string,
): Promise<{ readonly values: ReadonlyMap<string, unknown>; readonly removals: readonly Removal[] }> {
  const start = `$KV.${names.stateBucket}.`;
  const { state } = await jsm.streams.info(stream, { subjects_filter: '>' });
  const subjects = Object.keys(state.subjects ?? {}).filter((subject) => subject !== `${start}${TERM_KEY}`);
  const values = new Map<string, unknown>();
  const removals: Removal[] = [];
  await mapLimit(subjects, READS_IN_FLIGHT, async (subject) => {
    const message = await jsm.streams.getMessage(stream, { last_by_subj: subject });
    if (message === null) return;
    if (message.data.length === 0) removals.push({ subject, seq: message.seq });
    else values.set(nameOf(subject.slice(start.length)), JSON.parse(message.string()));
  });
  return { values, removals };
}

/** The files of the API keys, in a bucket that every member reads and `quotebook keys` changes. */
export class ClusterKeyFiles implements KeyFiles {
  readonly #cluster: ClusterConnection;
  readonly #bucket: KV;

  static async open(cluster: ClusterConnection): Promise<ClusterKeyFiles> {
    return new ClusterKeyFiles(cluster, await createBucket(cluster, cluster.names.keysBucket));
  }

  /** Where an engine has made the bucket, and this member may only read it. */
  static async attach(cluster: ClusterConnection): Promise<ClusterKeyFiles> {
    const { js, names } = cluster;
    return new ClusterKeyFiles(
      cluster,
      await new Kvm(js).open(names.keysBucket, { bindOnly: true, allow_direct: true }),
    );
  }

  private constructor(cluster: ClusterConnection, bucket: KV) {
    this.#cluster = cluster;
    this.#bucket = bucket;
  }

  async read(name: string): Promise<string | null> {
    const entry = await this.#bucket.get(name);
    return entry === null || entry.length === 0 ? null : entry.string();
  }

  async stamp(name: string): Promise<string | null> {
    const entry = await this.#bucket.get(name);
    return entry === null ? null : `${entry.revision}`;
  }

  async update(name: string, change: (current: string | null) => string): Promise<string> {
    for (;;) {
      const entry = await this.#bucket.get(name);
      const content = change(entry === null ? null : entry.string());
      try {
        const publish = (): Promise<number> =>
          entry === null ? this.#bucket.create(name, content) : this.#bucket.update(name, content, entry.revision);
        await publishServed(this.#cluster, publish);
        return content;
      } catch (error) {
        // Another process changed it meanwhile: its content is what this change is made to.
        if (!isWrongLastSequence(error)) throw error;
      }
    }
  }
}
