import t from 'tap';
import { ReplicaEngine } from '../../src/cluster/replica-engine.js';
import { GrowingBuffer } from '../../src/persistence/disk/buffer.js';
import { putMarker } from '../../src/persistence/format/frame.js';
import { newEngine } from '../engine/samples.js';

const nothing = { index: 0, seq: 0, group: 0, chain: Buffer.alloc(0) };

/** What a leader puts into the log about its state, as a group without records. */
function group(type: 'STATE_HASH' | 'STATE_SUM', stateHash: string): Parameters<ReplicaEngine['apply']>[0] {
  const out = new GrowingBuffer(256);
  putMarker(out, { type, index: 0, stateHash });
  const bytes = Buffer.from(out.bytes.subarray(0, out.length));
  const message = {
    type: 'GROUP',
    seq: 7,
    term: 1,
    previous: '',
    group: 1,
    firstIndex: 1,
    eventSeq: 0,
    bytes,
  } as const;
  return { message, before: nothing, after: nothing, framesAt: 0 };
}

t.test('an engine whose state is not the leader’s says so, and follows it no further', (t) => {
  const replica = new ReplicaEngine(newEngine());
  replica.apply(group('STATE_HASH', replica.engine.stateHash()));
  replica.apply(group('STATE_SUM', replica.engine.stateSum()));
  t.equal(replica.comparedHashes, 2);
  for (const type of ['STATE_HASH', 'STATE_SUM'] as const) {
    t.throws(() => replica.apply(group(type, 'f'.repeat(64))), {
      code: 'DAMAGED',
      message: /this member is not a replica any more/,
    });
  }
  t.equal(replica.comparedHashes, 2);
  t.end();
});
