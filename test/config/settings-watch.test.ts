import t, { type Test } from 'tap';
import { watchSettings } from '../../src/config/settings-watch.js';
import { loadSettings } from '../../src/config/settings.js';
import { ManualClock } from '../system/manual-clock.js';

/** A watch over a file that the test writes. */
async function watching(t: Test) {
  const clock = new ManualClock();
  const file = { text: '{"port": 1}' };
  const reread = () => loadSettings({ settings: {}, config: 'q.json' }, {}, () => Promise.resolve(file.text));
  const first = await reread();
  if (!first.ok) throw new Error(first.problems.join());
  const told: unknown[] = [];
  const since: string[] = [];
  const stop = watchSettings(first.settings, {
    clock,
    periodMs: 1000,
    reread,
    onChange: (settings, { changed, sinceStart }) => {
      told.push(Object.fromEntries(changed.map((name) => [name, settings[name]])));
      since.splice(0, since.length, ...sinceStart);
    },
    onProblems: (problems) => told.push(...problems),
  });
  t.teardown(stop);
  const look = async (): Promise<unknown[]> => {
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
    return told.splice(0);
  };
  return { clock, file, look, since, stop };
}

t.test('the watch reports the settings that changed in the file, and no others', async (t) => {
  const { file, look } = await watching(t);
  t.strictSame(await look(), []);
  file.text = '{"port": 1, "freeChannels": 7, "corsOrigins": ["https://a.example"]}';
  t.strictSame(await look(), [{ corsOrigins: ['https://a.example'], freeChannels: 7 }]);
  t.strictSame(await look(), []);
});

t.test('what was put back is no longer another than at the start', async (t) => {
  const { file, look, since } = await watching(t);
  file.text = '{"port": 2, "freeChannels": 7}';
  await look();
  t.strictSame(since, ['port', 'freeChannels']);
  file.text = '{"port": 1, "freeChannels": 7}';
  t.strictSame(await look(), [{ port: 1 }]);
  t.strictSame(since, ['freeChannels']);
});

t.test('an invalid file changes nothing and is reported once', async (t) => {
  const { file, look } = await watching(t);
  file.text = '{"port": 1, "freeChannels": 0}';
  t.match(await look(), [/^freeChannels cannot be 0/]);
  t.strictSame(await look(), []);
  file.text = '{"port": 1, "freeChannels": 8}';
  t.strictSame(await look(), [{ freeChannels: 8 }]);
});

t.test('a file that becomes invalid again after it was valid is reported again', async (t) => {
  const { file, look } = await watching(t);
  for (let times = 0; times < 2; times++) {
    file.text = '{"port": 1, "freeChannels": 0}';
    t.match(await look(), [/^freeChannels cannot be 0/]);
    file.text = '{"port": 1}';
    t.strictSame(await look(), []);
  }
});

t.test('what a look finds that was under way at the stop is not told', async (t) => {
  const { clock, file, look, stop } = await watching(t);
  file.text = '{"port": 2}';
  clock.advance(1000);
  stop();
  t.strictSame(await look(), []);
  t.equal(clock.pending, 0);
});

t.test('a stopped watch looks no more', async (t) => {
  const { clock, file, look, stop } = await watching(t);
  stop();
  file.text = '{"port": 2}';
  t.strictSame(await look(), []);
  t.equal(clock.pending, 0);
});
