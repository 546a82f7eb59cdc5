import type { Engine } from '../engine/engine.js';
import type { JournalRecord } from '../engine/ports.js';
import {
  frameEnd,
  FRAME_HEAD_BYTES,
  frameType,
  FrameType,
  readMarker,
  readFrame,
} from '../persistence/format/frame.js';
import { Replayer } from '../persistence/recovery/replay.js';
import { ClusterError } from './connection.js';
import type { CheckedGroup } from './log-follower.js';

/**
 * A replica's engine: applies the groups that the leader committed, insists that the same events come of each command,
 * and compares its state with every hash that the leader put into the log.
 */
export class ReplicaEngine {
  readonly engine: Engine;
  readonly #replayer: Replayer;
  #comparedHashes = 0;

  constructor(engine: Engine) {
    this.engine = engine;
    this.#replayer = new Replayer(engine);
  }

  /** State hashes of the leader that this engine came to as well. */
  get comparedHashes(): number {
    return this.#comparedHashes;
  }

  /** Throws PersistenceError or ClusterError: this engine is not the leader's any more, and has to be built anew. */
  apply({ message, before, framesAt }: CheckedGroup): readonly JournalRecord[] {
    const { bytes } = message;
    const records: JournalRecord[] = [];
    const segment = { number: 0, first: before };
    let { index } = before;
    for (let at = framesAt; at < bytes.length;) {
      const end = frameEnd(bytes, at);
      const type = frameType(bytes, at);
      if (type === FrameType.record) {
        index += 1;
        const payloadAt = at + FRAME_HEAD_BYTES;
        records.push(this.#replayer.apply({ index, bytes, start: at, payloadAt, end, segment }));
      } else if (type !== FrameType.commit) this.#compare(bytes, at, message.seq);
      at = end;
    }
    return records;
  }

  #compare(bytes: Buffer, at: number, seq: number): void {
    const frame = readFrame(bytes, at);
    const { engine } = this;
    if (typeof frame === 'string') throw new ClusterError('DAMAGED', `message ${seq} of the log stream: ${frame}`);
    const note = readMarker(frame, { file: `message ${seq}`, offset: at, index: engine.index, seq: engine.seq });
    if (note.index !== engine.index) return;
    const own = note.type === 'STATE_SUM' ? engine.stateSum() : engine.stateHash();
    if (own !== note.stateHash) {
      throw new ClusterError(
        'DAMAGED',
        `after record ${note.index} the state's hash is ${own}, and the leader's was ${note.stateHash}: ` +
          'this member is not a replica any more',
      );
    }
    this.#comparedHashes += 1;
  }
}
