import t from 'tap';
import { LogFollower } from '../../src/cluster/log-follower.js';
import type { LogStream, StreamMessage } from '../../src/cluster/log-stream.js';
import { ManualClock } from '../system/manual-clock.js';
import { CLUSTER_LIMITS } from './cluster-simulator.js';

const EPOCH = '0011223344556677';
const NO_POINT = { index: 0, seq: 0, group: 0, chain: Buffer.alloc(0) };

function term(seq: number): StreamMessage {
  const content = { member: 'm', nonce: `${seq}`, epoch: EPOCH, reorgDepth: 1, identity: {}, fileFormat: 1 };
  return { type: 'TERM', seq, term: seq, group: 0, eventSeq: 0, content };
}

t.test('messages behind a gap have it filled once', async (t) => {
  const clock = new ManualClock();
  let hear: (message: StreamMessage) => void = () => undefined;
  let reads = 0;
  const stream = {
    subscribe: (listener: typeof hear) => ((hear = listener), () => undefined),
    read: (seq: number) => Promise.resolve(((reads += 1), [1, 2, 3, 4, 5].filter((at) => at >= seq).map(term))),
  } as Partial<LogStream> as LogStream;
  const follower = new LogFollower(stream, {
    epoch: Buffer.from(EPOCH, 'hex'),
    after: { seq: 0, term: 0, point: NO_POINT },
    clock,
    limits: CLUSTER_LIMITS,
    onGroup: () => undefined,
    onTerm: () => undefined,
    onFault: (error) => t.error(error),
  });
  follower.start();
  for (const seq of [3, 4, 5]) hear(term(seq));
  t.equal(clock.pending, 1);
  clock.advance(CLUSTER_LIMITS.clusterGapMs);
  await follower.reach(5);
  t.equal(reads, 1);
  hear(term(7));
  t.equal(clock.pending, 1, 'and the next gap is filled, too');
});
