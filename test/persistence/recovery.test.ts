import t from 'tap';
import { COMMIT_BYTES, putCommit } from '../../src/persistence/commit.js';
import { FRAME_HEAD_BYTES } from '../../src/persistence/frame.js';
import { GrowingBuffer } from '../../src/persistence/growing-buffer.js';
import { recover } from '../../src/persistence/recovery.js';
import { surveyLog } from '../../src/persistence/survey.js';
import { REORG_DEPTH } from '../engine/samples.js';
import { silent } from '../simulation/simulated-log.js';
import { FIRST_SEGMENT, madeLog, withFile } from './made-log.js';
import { MemoryDisk } from './memory-disk.js';

t.test('a log that counts other events than its records bring is refused, though every byte of it fits', async (t) => {
  const log = await madeLog(4 << 10, true);
  const { segments, last } = await surveyLog(new MemoryDisk(log.files), log.epoch);
  const end = segments.at(-1)?.end ?? 0;
  for (const seq of [last.seq, last.seq + 1]) {
    const commit = new GrowingBuffer(FRAME_HEAD_BYTES + COMMIT_BYTES);
    const { index, group } = last;
    putCommit(commit, log.epoch, last.chain, null, { index, seq, group: group + 1, durable: group, records: 0 });
    const bytes = Buffer.from(log.files.get(FIRST_SEGMENT) ?? []);
    commit.view().copy(bytes, end);
    const recovering = recover(withFile(log, FIRST_SEGMENT, bytes), log.epoch, REORG_DEPTH, silent);
    if (seq === last.seq) t.match((await recovering).engine, { index, seq });
    else {
      await t.rejects(recovering, {
        code: 'DIFFERS',
        message: `the log ends with record ${index} and event ${seq}`,
        place: { file: FIRST_SEGMENT, index, seq: last.seq },
      });
    }
  }
});
