import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { measureStorage, timeFanOut } from '../../src/app/metrics-wiring.js';
import { Metrics } from '../../src/metrics/metrics.js';
import { nodeDiskAt } from '../../src/persistence/disk/node-disk.js';
import { segmentName, snapshotName } from '../../src/persistence/format/file-names.js';
import { readStorage } from '../../src/persistence/recovery/log-backup.js';
import { logIn } from '../cli/log-fixture.js';
import { ManualClock } from '../system/manual-clock.js';

async function sample(metrics: Metrics, name: string): Promise<number> {
  const line = (await metrics.text()).split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1));
}

t.test("the log's size, its volume's room and its newest snapshot are read with each scrape", async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'quotebook-storage-'));
  t.teardown(() => rm(directory, { recursive: true }));
  const { index } = await logIn(directory, 5);
  const metrics = new Metrics();
  const found = await readStorage(nodeDiskAt(directory));
  const files = [segmentName(1), snapshotName(index)];
  const sizes = await Promise.all(files.map(async (name) => (await stat(path.join(directory, name))).size));
  t.ok(found.logBytes >= (sizes[0] ?? 0) + (sizes[1] ?? 0));
  t.ok(found.freeBytes > 0);
  t.equal(found.snapshotMs, 0, 'the fixture reads no chain, whose time the engine has');
  measureStorage(metrics, () => readStorage(nodeDiskAt(directory)), { wallMs: () => 90_000 });
  t.equal(await sample(metrics, 'quotebook_log_bytes'), found.logBytes);
  t.ok((await sample(metrics, 'quotebook_disk_free_bytes')) > 0);
  t.equal(await sample(metrics, 'quotebook_snapshot_age_seconds'), 90);
});

t.test('a disk that fails leaves the other metrics readable, and has none of its own', async (t) => {
  const metrics = new Metrics();
  measureStorage(metrics, () => Promise.reject(new Error('EIO')), new ManualClock());
  const text = await metrics.text();
  t.match(text, /^quotebook_seq 0$/m);
  t.notMatch(text, /^quotebook_(log|disk_free)_bytes /m);
});

t.test('the fan-out is timed over the listeners in between', async (t) => {
  const metrics = new Metrics();
  const clock = new ManualClock();
  const listeners: (() => void)[] = [];
  const added = timeFanOut(metrics, { onEvents: (listener) => listeners.push(() => listener([])) }, clock);
  listeners.push(() => clock.advance(40));
  added();
  listeners.push(() => clock.advance(1_000));
  for (let commit = 0; commit < 2; commit += 1) for (const listener of listeners) listener();
  t.equal(await sample(metrics, 'quotebook_event_to_socket_seconds_sum'), 0.08);
  t.equal(await sample(metrics, 'quotebook_event_to_socket_seconds_count'), 2);
});
