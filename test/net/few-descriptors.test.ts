import { closeSync, openSync } from 'node:fs';
import t from 'tap';
import { spareDescriptors } from '../../src/system/clock.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { eachBackend, limits, serve } from './serving.js';
import { until } from '../until.js';

const request = head('GET / HTTP/1.1', 'Host: x');

eachBackend(t, (t, backend) => {
  const { spareDescriptors: few } = limits;

  t.test('while few descriptors are left nobody is taken, and who is connected is served', async (t) => {
    let spare = Infinity;
    const told: boolean[] = [];
    let looks = 0;
    const descriptors = {
      spare() {
        looks += 1;
        return spare;
      },
      onFew: (isFew: boolean) => void told.push(isFew),
    };
    const { port } = await serve(t, backend, { descriptors });
    /** Refused, or let go before it is answered: no. */
    const isTaken = async (): Promise<boolean> => {
      const connection = await RawConnection.open(port).catch(() => null);
      if (connection === null) return false;
      await connection.send(request);
      const isAnswered = await connection
        .until((text) => statuses(text).length === 1)
        .then(
          () => true,
          () => false,
        );
      connection.reset();
      return isAnswered;
    };
    const early = await RawConnection.open(port);
    await early.send(request);
    await early.until((text) => statuses(text).length === 1);
    t.ok(await isTaken());
    t.strictSame(told, []);

    spare = few - 1;
    await until(async () => !(await isTaken()));
    t.strictSame(told, [true]);
    await early.send(request);
    await early.until((text) => statuses(text).length === 2);
    await early.send(head('GET / HTTP/1.1', 'Host: x', 'Connection: Upgrade', 'Upgrade: h2c'));
    await early.until((text) => statuses(text).length === 3);

    spare = 2 * few - 1;
    const taken: boolean[] = [];
    for (const before = looks; looks < before + 3;) taken.push(await isTaken());
    t.notOk(taken.includes(true), 'it does not begin again at once');
    t.strictSame(told, [true]);

    spare = 2 * few;
    await until(isTaken);
    t.strictSame(told, [true, false]);
    early.reset();
  });
});

t.test(
  'the descriptors that are left are counted as they are opened',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const before = spareDescriptors();
    t.ok(before > 0 && Number.isSafeInteger(before));
    const opened = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'));
    t.ok(spareDescriptors() <= before - 50, 'some lie in gaps below');
    for (const descriptor of opened) closeSync(descriptor);
    t.equal(spareDescriptors(), before);
  },
);
