import { setImmediate as turn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import { type Disk, type DiskFile, type OpenMode, TEMPORARY } from '../../../src/persistence/disk/disk.js';
import { JsonStore, type JsonStoreOptions } from '../../../src/persistence/disk/json-store.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { SimClock } from '../../simulation/sim-clock.js';
import { silent } from '../../simulation/simulated-log.js';
import { MemoryDisk } from '../memory-disk.js';
import { SimDisk } from '../sim-disk.js';

const NAME = 'kept.jsonl';

function newDisk(seed = 1, capacityBytes = 1 << 20) {
  const clock = new SimClock();
  return { clock, disk: new SimDisk({ clock, random: new SeededRandom(seed), capacityBytes }) };
}

/** As a start does: what was not finished is removed first. */
async function open(disk: Disk, options: Partial<JsonStoreOptions> = {}): Promise<JsonStore> {
  for (const name of await disk.list()) if (name.endsWith(TEMPORARY)) await disk.remove(name);
  return JsonStore.open(disk, NAME, {
    maxBytes: 1 << 16,
    isExpected: false,
    acceptMissing: false,
    logger: silent,
    onFatal(error) {
      throw error;
    },
    ...options,
  });
}

/** Bytes of the lines alone. */
function lengthOfLines(bytes: Buffer): number {
  return bytes.toString('latin1').trimEnd().length + 1;
}

t.test('values outlive the process, and removed ones do not', async (t) => {
  const { clock, disk } = newDisk();
  await clock.until(
    (async () => {
      const first = await open(disk.boot());
      t.equal(first.found.size, 0);
      await first.put('1', { a: 'one' });
      await Promise.all([first.put('2', ['two']), first.put('3', 'three'), first.remove('1'), first.put('2', 2)]);
      await first.remove('unknown');
      await first.close();
      await t.rejects(first.put('4', 4), { code: 'FAILED' });
      const second = await open(disk.boot());
      t.strictSame(
        [...second.found],
        [
          ['2', 2],
          ['3', 'three'],
        ],
      );
      await second.close();
    })(),
  );
});

t.test('what changes while a line is on its way is in the next one, and neither is lost', async (t) => {
  const { clock, disk } = newDisk();
  const file = await clock.until(open(disk.boot()));
  const changes: Promise<void>[] = [];
  const keys = Array.from({ length: 12 }, (_, n) => `${n}`);
  for (const key of keys) {
    changes.push(file.put(key, 'x'.repeat(40)));
    // A line takes two calls to the disk: a write and a sync.
    await clock.step();
  }
  await clock.until(Promise.all(changes));
  disk.crash('power');
  clock.clear();
  t.strictSame([...(await clock.until(open(disk.boot()))).found.keys()], keys);
});

t.test('a line holds the changes since the one before, and none a second time', async (t) => {
  const { clock, disk } = newDisk();
  const file = await clock.until(open(disk.boot()));
  await clock.until(file.put('1', 'one'));
  await clock.until(file.put('2', 'two'));
  const lines = Buffer.from(disk.contentOf(NAME)).toString().trimEnd().split('\n');
  t.match(lines[1], /\[\{"key":"1","value":"one"\}\]$/);
  t.match(lines[2], /\[\{"key":"2","value":"two"\}\]$/);
});

t.test('a file that has grown too large is written anew with what it still holds', async (t) => {
  const { clock, disk } = newDisk();
  await clock.until(
    (async () => {
      const file = await open(disk.boot(), { maxBytes: 2_000 });
      for (let n = 0; n < 100; n++) {
        await file.put(`${n}`, 'x'.repeat(200));
        if (n >= 3) await file.remove(`${n - 3}`);
        t.ok(lengthOfLines(disk.contentOf(NAME)) <= 2_000);
      }
      await file.close();
      t.strictSame([...(await open(disk.boot())).found.keys()], ['97', '98', '99']);
    })(),
  );
});

t.test('torn at any byte of its last line it holds what was promised before', async (t) => {
  const { clock, disk } = newDisk();
  await clock.until(
    (async () => {
      const file = await open(disk.boot());
      await file.put('1', 'kept');
      const promised = lengthOfLines(disk.contentOf(NAME));
      await file.put('2', 'torn');
      const whole = disk.contentOf(NAME);
      const length = lengthOfLines(whole);
      for (let end = promised; end <= length; end++) {
        for (const rest of [Buffer.alloc(whole.length - end, '\n'), Buffer.alloc(whole.length - end)]) {
          disk.place(NAME, Buffer.concat([whole.subarray(0, end), rest]));
          const { found } = await open(disk.boot());
          t.strictSame([...found.keys()], end >= length - 1 ? ['1', '2'] : ['1'], `${end}`);
        }
      }
    })(),
  );
});

t.test(
  'a change of any byte before the last line stops the start, or is one of a line end and does no harm',
  async (t) => {
    const { clock, disk } = newDisk();
    await clock.until(
      (async () => {
        const file = await open(disk.boot());
        await file.put('1', 'one');
        const before = lengthOfLines(disk.contentOf(NAME));
        await file.put('2', 'two');
        const whole = disk.contentOf(NAME);
        for (let at = 0; at < before; at++) {
          const changed = Buffer.from(whole);
          changed[at] = (changed[at] ?? 0) ^ 0x04;
          disk.place(NAME, changed);
          if (whole[at] === 0x0a) t.equal((await open(disk.boot())).found.size, 2, `byte ${at}`);
          else await t.rejects(open(disk.boot()), { code: 'DAMAGED' }, `byte ${at}`);
        }
      })(),
    );
  },
);

t.test('a file without its first line is damage, and not one that holds nothing', async (t) => {
  const { clock, disk } = newDisk();
  await clock.until(
    (async () => {
      await (await open(disk.boot())).close();
      const whole = disk.contentOf(NAME);
      for (const end of [0, 1, lengthOfLines(whole) - 2]) {
        disk.place(NAME, whole.subarray(0, end));
        await t.rejects(open(disk.boot()), { code: 'DAMAGED', place: { file: NAME, offset: 0 } }, `${end} bytes`);
      }
    })(),
  );
});

t.test('a file that is missing, or shorter than it was made, stops the start until that is accepted', async (t) => {
  const { clock, disk } = newDisk();
  await clock.until(
    (async () => {
      const file = await open(disk.boot());
      await file.put('1', 'one');
      const length = lengthOfLines(disk.contentOf(NAME));
      await file.put('2', 'x'.repeat(5_000));
      const whole = disk.contentOf(NAME);
      t.equal(whole.length % 4096, 0);
      for (const [end, left] of [
        [lengthOfLines(whole), ['1', '2']],
        [lengthOfLines(whole) - 1, ['1', '2']],
        [4096, ['1']],
        [length, ['1']],
      ] as const) {
        disk.place(NAME, whole.subarray(0, end));
        await t.rejects(open(disk.boot()), { code: 'MISSING', message: /cut short.*--accept-missing kept\.jsonl/ });
        t.equal(disk.contentOf(NAME).length, end, 'nothing has changed');
        t.strictSame([...(await open(disk.boot(), { acceptMissing: true })).found.keys()], left);
      }
      disk.place(NAME, Buffer.alloc(0));
      await disk.boot().remove(NAME);
      const missing = open(disk.boot(), { isExpected: true });
      await t.rejects(missing, { code: 'MISSING', message: /is missing.*--accept-missing kept\.jsonl/ });
      t.equal((await open(disk.boot(), { isExpected: true, acceptMissing: true })).found.size, 0);
    })(),
  );
});

t.test('a file of the first format has no filler, and is read', async (t) => {
  const { clock, disk } = newDisk();
  const lines = ['{"format":1}', '[{"key":"1","value":2}]'].map(
    (json) => `${crc32(json).toString(16).padStart(8, '0')} ${json.length} ${json}\n`,
  );
  disk.place(NAME, Buffer.from(lines.join('')));
  t.strictSame([...(await clock.until(open(disk.boot()))).found], [['1', 2]]);
  t.equal(disk.contentOf(NAME).length, 4096, 'and written anew with some');
});

t.test('a format from the future is left alone', async (t) => {
  const { clock, disk } = newDisk();
  const json = '{"format":3}';
  disk.place(NAME, Buffer.from(`${crc32(json).toString(16).padStart(8, '0')} ${json.length} ${json}\n`));
  await clock.until(t.rejects(open(disk.boot()), { code: 'NEWER_FORMAT' }));
});

t.test('on a full disk a change is refused, and the file goes on when there is room', async (t) => {
  const { clock, disk } = newDisk(1, 16_384);
  await clock.until(
    (async () => {
      const lines: string[] = [];
      const noted = (_: object, message: string) => lines.push(message);
      const file = await open(disk.boot(), { logger: { ...silent, warn: noted, info: noted } });
      await file.put('1', 'small');
      disk.foreignBytes = 12_288;
      for (let times = 0; times < 3; times++) {
        await t.rejects(file.put('2', 'x'.repeat(5_000)), { code: 'ENOSPC' });
      }
      t.match(lines, [/^file not written$/], 'said once');
      disk.foreignBytes = 0;
      await file.put('3', 'small, too');
      t.match(lines.slice(1), ['file writes recovered']);
      await file.close();
      const { found } = await open(disk.boot());
      t.strictSame([...found.keys()], ['1', '2', '3'], 'what was refused may be kept');
    })(),
  );
});

t.test('a full disk stops no start: what is there is read, and written anew once there is room', async (t) => {
  const { clock, disk } = newDisk(1, 16_384);
  await clock.until(
    (async () => {
      const first = await open(disk.boot());
      await first.put('1', 'kept');
      await first.close();
      const torn = Buffer.from(disk.contentOf(NAME));
      torn.write('0badc0de 900 {"key":', lengthOfLines(torn));
      disk.place(NAME, torn);
      disk.foreignBytes = 12_288;
      const warnings: string[] = [];
      const logger = { ...silent, warn: (_: object, message: string) => void warnings.push(message) };
      const second = await open(disk.boot(), { logger });
      t.strictSame([...second.found.keys()], ['1']);
      t.match(warnings, [/^unfinished line dropped$/, /^file not compacted$/]);
      await t.rejects(second.put('2', 'refused'), { code: 'ENOSPC' });
      t.strictSame([disk.fileNames(), disk.contentOf(NAME)], [[NAME], torn], 'nothing is done to it');
      disk.foreignBytes = 0;
      await second.put('3', 'later');
      await second.close();
      t.strictSame([...(await open(disk.boot())).found.keys()], ['1', '2', '3']);
    })(),
  );
});

t.test('a failed sync ends the process, and nothing is written after it', async (t) => {
  const { clock, disk } = newDisk();
  const fatal: Error[] = [];
  await clock.until(
    (async () => {
      const file = await open(disk.boot(), { onFatal: (error) => fatal.push(error) });
      await file.put('1', 1);
      disk.inject({ nth: 1, code: 'EIO', persistent: false, calls: ['sync'] });
      const failing = file.put('2', 2);
      // Its line is begun by then, so what comes is for the next.
      for (let n = 0; n < 5; n++) await Promise.resolve();
      const outcomes = await Promise.allSettled([failing, file.put('3', 3)]);
      t.match(outcomes, [{ reason: { code: 'EIO' } }, { reason: { code: 'FAILED' } }]);
      t.equal(fatal.length, 1);
      await t.rejects(file.put('4', 4), { code: 'FAILED' });
      t.equal(disk.calls, 1, 'no sync is tried again');
    })(),
  );
});

t.test('what closing comes before is not written, and closing does not fail with it', async (t) => {
  const { clock, disk } = newDisk();
  const file = await clock.until(open(disk.boot()));
  const outcomes = await clock.until(Promise.allSettled([file.put('1', 1), file.close()]));
  t.match(outcomes, [{ reason: { code: 'FAILED' } }, { status: 'fulfilled' }]);
});

t.test('a disk that fails, and is not full, stops the start', async (t) => {
  const { clock, disk } = newDisk();
  await clock.until((await clock.until(open(disk.boot()))).close());
  disk.inject({ nth: 1, code: 'EIO', persistent: false, calls: ['write'] });
  await t.rejects(clock.until(open(disk.boot())), { code: 'EIO' });
});

t.test('each file that it opened is closed when it is', async (t) => {
  let opened = 0;
  class CountingDisk extends MemoryDisk {
    override async open(name: string, mode: OpenMode): Promise<DiskFile> {
      const file = await super.open(name, mode);
      const close = file.close.bind(file);
      opened += 1;
      file.close = async () => {
        await turn();
        opened -= 1;
        return close();
      };
      return file;
    }
  }
  const file = await open(new CountingDisk([]), { maxBytes: 500 });
  for (let n = 0; n < 10; n++) await file.put('1', 'x'.repeat(200));
  t.equal(opened, 1);
  await file.close();
  t.equal(opened, 0);
});

t.test('whatever the crash, what was promised is there and what was removed is not', async (t) => {
  const step = fc.record({ key: fc.integer({ min: 0, max: 4 }).map(String), size: fc.integer({ min: 0, max: 900 }) });
  const run = async (seed: number, steps: { key: string; size: number }[], crash: 'kill' | 'power', after: number) => {
    const { clock, disk } = newDisk(seed);
    const promised = new Map<string, unknown>();
    const begun = new Map<string, unknown[]>();
    const file = await clock.until(open(disk.boot(), { maxBytes: 3_000 }));
    const work = (async () => {
      for (const [n, { key, size }] of steps.entries()) {
        const value = size === 0 ? undefined : `${n}:${'x'.repeat(size)}`;
        begun.set(key, [promised.get(key), value]);
        await (value === undefined ? file.remove(key) : file.put(key, value));
        promised.set(key, value);
        begun.delete(key);
      }
    })();
    work.catch(() => undefined);
    for (let n = 0; n < after; n++) await clock.step();
    clock.clear();
    disk.crash(crash);
    const { found } = await clock.until(open(disk.boot()));
    for (const key of ['0', '1', '2', '3', '4']) {
      const allowed = begun.get(key) ?? [promised.get(key)];
      if (!allowed.includes(found.get(key))) throw new Error(`${key} is neither what it was nor what it was to be`);
    }
  };
  const property = fc.asyncProperty(
    fc.integer(),
    fc.array(step, { maxLength: 20, size: 'max' }),
    fc.constantFrom('kill', 'power'),
    fc.integer({ min: 0, max: 80 }),
    run,
  );
  await fc.assert(property, { numRuns: 300 });
  t.pass();
});
