import { DiscardPolicy, RetentionPolicy, type StreamConfig } from '@nats-io/jetstream';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { publishServed } from '../../src/cluster/connection.js';
import { GroupPublisher } from '../../src/cluster/group-publisher.js';
import { StreamReader } from '../../src/cluster/log-follower.js';
import { NatsLogStream, openLogStream, type StreamMessage, WrongLastSequence } from '../../src/cluster/log-stream.js';
import type { LogPoint } from '../../src/persistence/format/header.js';
import { systemClock } from '../../src/system/clock.js';
import { connectTo, natsServers } from './nats-servers.js';
import { until } from '../until.js';

const TERM = {
  member: 'engine-1',
  nonce: 'a',
  epoch: '0011223344556677',
  reorgDepth: 10,
  identity: { chainId: 1 },
  fileFormat: 3,
};

function point(group: number): LogPoint {
  return { index: 10 * group, seq: 20 * group, group, chain: createHash('sha256').update(`${group}`).digest() };
}

function group(number: number, bytes = `group ${number}`) {
  return { before: point(number - 1), after: point(number), bytes: Buffer.from(bytes) };
}

async function openStream(t: Pick<Test, 'teardown'>): Promise<NatsLogStream> {
  const servers = await natsServers(t);
  return openLogStream(await connectTo(t, servers));
}

t.test('an append names the last sequence before it, and is rejected when another came first', async (t) => {
  const stream = await openStream(t);
  t.equal(await stream.appendTerm(TERM, point(0), 0), 1);
  t.equal(await stream.appendGroup(group(1), 1, 1), 2);
  await t.rejects(stream.appendGroup(group(2), 1, 1), WrongLastSequence);
  t.equal(await stream.appendTerm({ ...TERM, member: 'engine-2', nonce: 'b' }, point(1), 2), 3);
  await t.rejects(stream.appendGroup(group(2), 1, 2), WrongLastSequence, 'so is the deposed leader');
  t.equal(await stream.lastSequence(), 3);
  const read = await stream.read(1, 10);
  t.match(read, [
    { type: 'TERM', seq: 1, term: 1, content: TERM },
    { type: 'GROUP', seq: 2, term: 1, group: 1, firstIndex: 1, eventSeq: 20, previous: point(0).chain.toString('hex') },
    { type: 'TERM', seq: 3, term: 3, group: 1 },
  ]);
  t.match(await stream.get(2), { bytes: Buffer.from('group 1') }, 'with exactly its bytes');
});

t.test('an append waits while no server takes messages for the stream', async (t) => {
  const cluster = await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true });
  // Nobody has made the stream: the servers answer as they do between two leaders.
  const appended = new NatsLogStream(cluster).appendTerm(TERM, point(0), 0);
  const isSettled = await Promise.race([appended.then(() => true), pause(300, false)]);
  t.notOk(isSettled);
  await openLogStream(cluster);
  t.equal(await appended, 1);
  const { names, js } = cluster;
  const late = { ...cluster, options: { ...cluster.options, callMs: 200 } };
  const nobody = publishServed(late, () => js.publish(`${names.log}.nobody`, 'x'));
  await t.rejects(nobody, /not enabled|no responders/, 'for as long as a call may take');
});

t.test('a stream that would lose messages, or whose messages cannot be read, is refused', async (t) => {
  const cluster = await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true });
  const { jsm, names } = cluster;
  const made = async (changes: Partial<StreamConfig>): Promise<NatsLogStream> => {
    await jsm.streams.add({
      name: names.stream,
      subjects: [names.log],
      discard: DiscardPolicy.New,
      deny_delete: true,
      deny_purge: true,
      allow_direct: true,
      republish: { src: names.log, dest: names.committed },
      ...changes,
    });
    return openLogStream(cluster).finally(() => jsm.streams.delete(names.stream));
  };
  await t.resolves(made({}), 'it holds the log otherwise');
  for (const [changes, reason] of [
    [{ retention: RetentionPolicy.Interest }, 'it drops messages that consumers have read'],
    [{ max_msgs_per_subject: 1_000 }, 'it keeps only so many messages of a subject'],
    [{ allow_direct: false }, 'its messages cannot be read directly'],
  ] as const) {
    const message = `the stream ${names.stream} cannot hold the log: ${reason}`;
    await t.rejects(made(changes), { code: 'UNSAFE', message });
  }
});

t.test('servers that take no messages of the size of a group are refused', async (t) => {
  const servers = await natsServers(t, { servers: 1, maxPayload: 1 << 20 });
  const cluster = await connectTo(t, servers, { unsafe: true });
  const message = 'the NATS servers take messages of 1048576 bytes at most: set max_payload to 8MB or more';
  await t.rejects(openLogStream(cluster), { code: 'UNSAFE', message });
});

t.test('a group that is larger than a message may be is refused with the size that it needs', async (t) => {
  const stream = await openLogStream(await connectTo(t, await natsServers(t, { servers: 1 }), { unsafe: true }));
  const bytes = 9 << 20;
  const message = `a group of ${bytes} bytes is more than the NATS servers take: set max_payload to ${bytes + 1_024} or more`;
  await t.rejects(stream.appendGroup(group(1, 'x'.repeat(bytes)), 1, 0), { code: 'UNSAFE', message });
});

t.test('committed messages come as they are committed', async (t) => {
  const stream = await openStream(t);
  const heard: StreamMessage[] = [];
  stream.subscribe(
    (message) => heard.push(message),
    (error) => t.error(error),
  );
  await stream.appendTerm(TERM, point(0), 0);
  await stream.appendGroup(group(1), 1, 1);
  await until(() => heard.length >= 2);
  t.match(heard, [
    { type: 'TERM', seq: 1 },
    { type: 'GROUP', seq: 2, group: 1 },
  ]);
});

t.test('a deposed leader with a full window gets nothing acknowledged any more', async (t) => {
  const stream = await openStream(t);
  await stream.appendTerm(TERM, point(0), 0);
  const acknowledged: number[] = [];
  let fault: Error | null = null;
  const publisher = new GroupPublisher(stream, {
    term: 1,
    lastSeq: 1,
    lastGroup: 0,
    window: 16,
    retryMs: 50,
    clock: systemClock,
    onAcknowledged: (index) => acknowledged.push(index),
    onFault: (error) => (fault = error),
  });
  for (let number = 1; number <= 50; number += 1) publisher.append(group(number));
  await publisher.acknowledged(50);
  t.equal(acknowledged.at(-1), 500);
  t.equal(await stream.appendTerm({ ...TERM, nonce: 'b', member: 'engine-2' }, point(50), 51), 52);
  for (let number = 51; number <= 100; number += 1) publisher.append(group(number));
  await t.rejects(publisher.acknowledged(51), { code: 'DEPOSED' });
  t.match(fault, { code: 'DEPOSED', message: /engine-2 leads/ });
  t.equal(acknowledged.at(-1), 500);
  const reader = new StreamReader(Buffer.from(TERM.epoch, 'hex'), { seq: 51, term: 1, point: point(50) });
  const [term, ...rest] = (await stream.read(52, 100)).map((message) => reader.take(message).type);
  t.equal(term, 'TERM');
  t.ok(
    rest.every((type) => type === 'VOID'),
    'and what the servers took of its window is void',
  );
});

t.test('what a killed and restarted node held is there, and appends go on without it', async (t) => {
  const servers = await natsServers(t);
  const stream = await openLogStream(await connectTo(t, servers));
  await stream.appendTerm(TERM, point(0), 0);
  const publisher = new GroupPublisher(stream, {
    term: 1,
    lastSeq: 1,
    lastGroup: 0,
    window: 64,
    retryMs: 100,
    clock: systemClock,
    onAcknowledged: () => undefined,
    onFault: (error) => t.error(error),
  });
  for (let number = 1; number <= 300; number += 1) publisher.append(group(number));
  await servers.nodes[1]?.kill('SIGKILL');
  for (let number = 301; number <= 600; number += 1) publisher.append(group(number));
  await publisher.drain();
  t.equal(await stream.lastSequence(), 601);
  const groups = new Set<number>();
  for (let seq = 1; seq <= 601;) {
    const read = await stream.read(seq, 100);
    for (const message of read) if (message.type === 'GROUP') groups.add(message.group);
    seq += read.length;
  }
  t.equal(groups.size, 600, 'each group once');
});
