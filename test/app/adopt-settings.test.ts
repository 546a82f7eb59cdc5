import t from 'tap';
import { adoptSettings } from '../../src/app/adopt-settings.js';
import type { Changes } from '../../src/config/settings-watch.js';
import { loadSettings } from '../../src/config/settings.js';

/** The settings that a service is given, and the lines of the text log, when these settings change. */
async function adopted(changes: Changes) {
  const read = await loadSettings({ settings: { freeChannels: '7' } }, {}, () => Promise.reject(new Error('no file')));
  if (!read.ok) throw new Error(read.problems.join());
  const channels: number[] = [];
  const told: unknown[] = [];
  const service = { adoptQuotas: ({ free }: { free: { channels: number } }) => void channels.push(free.channels) };
  const tell = (what: { settings: unknown }, words: string): void => void told.push([words, what.settings]);
  adoptSettings(service, read.settings, changes, { info: tell, warn: tell } as never);
  return { channels, told };
}

t.test('other quotas are in force at once, and named', async (t) => {
  t.strictSame(await adopted({ changed: ['freeChannels'], sinceStart: ['freeChannels'] }), {
    channels: [7],
    told: [['quotas changed', ['freeChannels']]],
  });
});

t.test('quotas that were put back are in force again', async (t) => {
  t.strictSame((await adopted({ changed: ['freeChannels'], sinceStart: [] })).channels, [7]);
});

t.test('any other setting waits for the next start, and is named alone', async (t) => {
  t.strictSame(await adopted({ changed: ['port', 'freeChannels'], sinceStart: ['host', 'port', 'freeChannels'] }), {
    channels: [7],
    told: [
      ['quotas changed', ['freeChannels']],
      ['settings need a restart', ['port']],
    ],
  });
});

t.test('nothing is said of a setting that was put back to what is in force', async (t) => {
  t.strictSame(await adopted({ changed: ['port'], sinceStart: [] }), { channels: [], told: [] });
});
