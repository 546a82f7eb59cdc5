import { type StoredMsg, StorageType, DiscardPolicy, RetentionPolicy } from '@nats-io/jetstream';
import { headers, type Msg, type MsgHdrs } from '@nats-io/transport-node';
import type { Random } from '../engine/ports.js';
import { FILE_FORMAT, type LogPoint } from '../persistence/format/header.js';
import {
  type ClusterConnection,
  ClusterError,
  isWrongLastSequence,
  publishServed,
  REPLICAS,
  replicasOf,
  streamInfo,
} from './connection.js';

/** Version of the messages. A member that meets a newer one has to be upgraded. */
export const STREAM_FORMAT = 1;

/** A committed group as the log stream holds it: exactly the bytes that the leader's own segment got. */
export interface GroupMessage {
  readonly type: 'GROUP';
  /** Of the stream, from 1. */
  readonly seq: number;
  readonly term: number;
  /** The group's number in the log, its first record, and its last event, or that of the groups before. */
  readonly group: number;
  readonly firstIndex: number;
  readonly eventSeq: number;
  /** The log's chain value before it, in hex. */
  readonly previous: string;
  readonly bytes: Buffer;
}

/** The beginning of a leader's term. Its number is its sequence in the stream. */
export interface TermMessage {
  readonly type: 'TERM';
  readonly seq: number;
  readonly term: number;
  /** The last group, and the last event, before it. */
  readonly group: number;
  readonly eventSeq: number;
  readonly content: TermContent;
}

export type StreamMessage = GroupMessage | TermMessage;

/** Content of a TERM; the first one of a stream begins its log. */
export interface TermContent {
  readonly member: string;
  /** Tells this attempt from every other: an append whose outcome is unknown is found again by it. */
  readonly nonce: string;
  /** 16 hex digits that name the log. */
  readonly epoch: string;
  readonly reorgDepth: number;
  /** Chains and contracts that the log is of. */
  readonly identity: Readonly<Record<string, string | number>>;
  /** Of the log's files: what the leader writes. */
  readonly fileFormat: number;
}

const NONCE_BYTES = 16;

/** A TERM of this program, which no other attempt repeats. */
export function newTerm(
  member: string,
  random: Pick<Random, 'bytes'>,
  log: Pick<TermContent, 'epoch' | 'reorgDepth' | 'identity'>,
): TermContent {
  return { ...log, member, nonce: Buffer.from(random.bytes(NONCE_BYTES)).toString('hex'), fileFormat: FILE_FORMAT };
}

/** A group as a leader appends it. */
export interface ReplicatedGroup {
  readonly before: LogPoint;
  readonly after: LogPoint;
  readonly bytes: Buffer;
}

/** An append was rejected because the stream has another last sequence than expected. */
export class WrongLastSequence extends Error {
  override readonly name = 'WrongLastSequence';
}

/** The replicated stream as members use it; the simulator has one of its own. */
export interface LogStream {
  /**
   * Resolves to the sequence once a quorum has synced it. Rejects with WrongLastSequence, or with any other error when
   * the outcome is unknown.
   */
  appendGroup(group: ReplicatedGroup, term: number, expectedLast: number): Promise<number>;
  appendTerm(content: TermContent, at: LogPoint, expectedLast: number): Promise<number>;
  /** The last sequence, as the stream's own leader reports it. */
  lastSequence(): Promise<number>;
  /** From the stream's own leader; null: no such message. */
  get(seq: number): Promise<StreamMessage | null>;
  /** From `seq` on, in order, from any replica: it may be behind, or have holes. */
  read(seq: number, messages: number): Promise<readonly StreamMessage[]>;
  /** Committed messages as they come; some may never come. Returns how to stop. */
  subscribe(listener: (message: StreamMessage) => void, onFault: (error: Error) => void): () => void;
}

/** From the stream's own leader. Throws ClusterError DAMAGED where it is not there. */
export async function messageAt(stream: LogStream, seq: number): Promise<StreamMessage> {
  const message = await stream.get(seq);
  if (message === null) throw new ClusterError('DAMAGED', `message ${seq} of the log stream is missing`);
  return message;
}

/**
 * All messages from one sequence to another, which the stream has. They come from any replica, `readMessages` at a time;
 * what a replica lacks, because it is behind or has lost it, comes from the stream's leader. Throws as `messageAt`.
 */
export async function* messagesFrom(
  stream: LogStream,
  firstSeq: number,
  lastSeq: number,
  readMessages: number,
): AsyncGenerator<StreamMessage> {
  for (let next = firstSeq; next <= lastSeq;) {
    const from = next;
    for (const message of await stream.read(next, readMessages)) {
      if (message.seq !== next || next > lastSeq) break;
      next += 1;
      yield message;
    }
    if (next > from) continue;
    next += 1;
    yield await messageAt(stream, from);
  }
}

const HEADER = {
  format: 'Qb-Format',
  deployment: 'Qb-Deployment',
  type: 'Qb-Type',
  term: 'Qb-Term',
  group: 'Qb-Group',
  firstIndex: 'Qb-First',
  eventSeq: 'Qb-Event',
  previous: 'Qb-Previous',
} as const;

/** How long the servers recognize a message that is sent a second time. */
const DUPLICATE_WINDOW_NS = 120e9;
/** Bytes of one answer to `read`. */
const READ_BYTES = 8 << 20;
/** Least `max_payload` of the servers. A group may have `clusterGroupBytes`, and one record more. */
const MIN_PAYLOAD_BYTES = 8 << 20;
const API_PREFIX = '$JS.API';

/**
 * Makes the log stream where it is absent. Rejects with ClusterError UNSAFE where it is not what a log has to be, or
 * where the servers take no messages of the size of its groups.
 */
export async function openLogStream(cluster: ClusterConnection): Promise<NatsLogStream> {
  const { jsm, names, options, maxPayload } = cluster;
  if (maxPayload < MIN_PAYLOAD_BYTES) {
    const message = `the NATS servers take messages of ${maxPayload} bytes at most: set max_payload to 8MB or more`;
    throw new ClusterError('UNSAFE', message);
  }
  const found = await streamInfo(cluster, names.stream);
  const info =
    found ??
    (await jsm.streams.add({
      name: names.stream,
      subjects: [names.log],
      storage: StorageType.File,
      retention: RetentionPolicy.Limits,
      discard: DiscardPolicy.New,
      num_replicas: replicasOf(options),
      deny_delete: true,
      deny_purge: true,
      allow_direct: true,
      duplicate_window: DUPLICATE_WINDOW_NS,
      republish: { src: names.log, dest: names.committed },
    }));
  const { config } = info;
  const wrong = [
    ...(config.num_replicas < REPLICAS && !options.unsafe
      ? [`it has ${config.num_replicas} replicas, not ${REPLICAS}`]
      : []),
    ...(config.storage === StorageType.File ? [] : ['it is not kept in files']),
    ...(config.retention === RetentionPolicy.Limits ? [] : ['it drops messages that consumers have read']),
    ...(config.deny_delete && config.deny_purge ? [] : ['its messages can be deleted']),
    ...(config.discard === DiscardPolicy.New ? [] : ['it drops old messages when it is full']),
    ...(config.max_age === 0 ? [] : ['its messages expire']),
    // With discard new, too, the servers drop the oldest message of a subject that has more.
    ...(config.max_msgs_per_subject <= 0 ? [] : ['it keeps only so many messages of a subject']),
    ...(config.allow_direct ? [] : ['its messages cannot be read directly']),
    ...(config.republish?.dest === names.committed ? [] : [`it does not republish to ${names.committed}`]),
  ];
  if (wrong.length > 0)
    throw new ClusterError('UNSAFE', `the stream ${names.stream} cannot hold the log: ${wrong.join('; ')}`);
  return new NatsLogStream(cluster);
}

/** The log stream in NATS JetStream. */
export class NatsLogStream implements LogStream {
  readonly #cluster: ClusterConnection;

  constructor(cluster: ClusterConnection) {
    this.#cluster = cluster;
  }

  appendGroup({ before, after, bytes }: ReplicatedGroup, term: number, expectedLast: number): Promise<number> {
    const { maxPayload } = this.#cluster;
    if (bytes.length > maxPayload - HEADER_ROOM_BYTES) {
      const least = bytes.length + HEADER_ROOM_BYTES;
      const message = `a group of ${bytes.length} bytes is more than the NATS servers take: set max_payload to ${least} or more`;
      return Promise.reject(new ClusterError('UNSAFE', message));
    }
    const head = this.#head('GROUP', term, after.group, after.seq);
    head.set(HEADER.firstIndex, `${before.index + 1}`);
    head.set(HEADER.previous, before.chain.toString('hex'));
    // A copy for another place is not a duplicate.
    return this.#append(bytes, head, expectedLast, `${term}-${after.group}-${expectedLast}`);
  }

  appendTerm(content: TermContent, { group, seq }: LogPoint, expectedLast: number): Promise<number> {
    const head = this.#head('TERM', expectedLast + 1, group, seq);
    return this.#append(Buffer.from(JSON.stringify(content)), head, expectedLast, content.nonce);
  }

  async lastSequence(): Promise<number> {
    const { jsm, names } = this.#cluster;
    return (await jsm.streams.info(names.stream)).state.last_seq;
  }

  async get(seq: number): Promise<StreamMessage | null> {
    const { jsm, names } = this.#cluster;
    const stored = await jsm.streams.getMessage(names.stream, { seq });
    return stored === null ? null : this.#read(stored);
  }

  async read(seq: number, messages: number): Promise<readonly StreamMessage[]> {
    const { nats, names, options } = this.#cluster;
    const payload = JSON.stringify({ seq, batch: messages, max_bytes: READ_BYTES });
    const answers = await nats.requestMany(`${API_PREFIX}.DIRECT.GET.${names.stream}`, payload, {
      strategy: 'sentinel',
      maxWait: options.callMs,
      noMux: true,
    });
    const read: StreamMessage[] = [];
    for await (const message of answers) {
      if (message.data.length === 0) break;
      read.push(this.#message(Number(message.headers?.get('Nats-Sequence')), message.headers, message.data));
    }
    return read;
  }

  subscribe(listener: (message: StreamMessage) => void, onFault: (error: Error) => void): () => void {
    const { nats, names } = this.#cluster;
    const subscription = nats.subscribe(names.committed, {
      callback: (error, message: Msg) => {
        // The subscription goes on over reconnections; what is missed meanwhile is a gap like any other.
        if (error !== null) return;
        try {
          listener(this.#message(Number(message.headers?.get('Nats-Sequence')), message.headers, message.data));
        } catch (fault) {
          onFault(fault as Error);
        }
      },
    });
    return () => subscription.unsubscribe();
  }

  async #append(payload: Uint8Array, head: MsgHdrs, expectedLast: number, msgID: string): Promise<number> {
    const { js, names, options } = this.#cluster;
    try {
      const expect = { streamName: names.stream, lastSequence: expectedLast };
      const publishing = { headers: head, msgID, expect, timeout: options.callMs };
      const { seq } = await publishServed(this.#cluster, () => js.publish(names.log, payload, publishing));
      return seq;
    } catch (error) {
      if (isWrongLastSequence(error)) {
        throw new WrongLastSequence(error.message, { cause: error });
      }
      throw error;
    }
  }

  #head(type: StreamMessage['type'], term: number, group: number, eventSeq: number): MsgHdrs {
    const head = headers();
    head.set(HEADER.format, `${STREAM_FORMAT}`);
    head.set(HEADER.deployment, this.#cluster.options.deployment);
    head.set(HEADER.type, type);
    head.set(HEADER.term, `${term}`);
    head.set(HEADER.group, `${group}`);
    head.set(HEADER.eventSeq, `${eventSeq}`);
    return head;
  }

  #read(stored: StoredMsg): StreamMessage {
    return this.#message(stored.seq, stored.header, stored.data);
  }

  #message(seq: number, head: MsgHdrs | undefined, data: Uint8Array): StreamMessage {
    const text = (name: string): string => head?.get(name) ?? '';
    const number = (name: string): number => Number(text(name));
    if (number(HEADER.format) > STREAM_FORMAT) {
      throw new ClusterError(
        'NEWER_FORMAT',
        `message ${seq} of the log stream has format ${number(HEADER.format)}, this program reads up to ` +
          `${STREAM_FORMAT}: upgrade it`,
      );
    }
    const { deployment } = this.#cluster.options;
    if (text(HEADER.deployment) !== deployment) {
      throw new ClusterError('FOREIGN', `message ${seq} of the log stream is of deployment ${text(HEADER.deployment)}`);
    }
    const common = { seq, group: number(HEADER.group), eventSeq: number(HEADER.eventSeq) };
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
    if (text(HEADER.type) === 'TERM') {
      return { ...common, type: 'TERM', term: seq, content: JSON.parse(bytes.toString('utf8')) as TermContent };
    }
    return {
      ...common,
      type: 'GROUP',
      term: number(HEADER.term),
      firstIndex: number(HEADER.firstIndex),
      previous: text(HEADER.previous),
      bytes,
    };
  }
}

/** Most bytes that the headers of a message take. */
const HEADER_ROOM_BYTES = 1024;
