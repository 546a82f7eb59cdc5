import { openSync, closeSync } from 'node:fs';
import t from 'tap';
import { spareDescriptors } from '../../src/system/spare-descriptors.js';
import { head, RawConnection, statuses } from './raw-connection.js';
import { eachBackend, limits, serve } from './serving.js';

const request = head('GET / HTTP/1.1', 'Host: x');

eachBackend(t, (t, backend) => {
  if (backend.name === 'node') {
    t.pass('node:http needs no watching');
    return;
  }
  const { spareDescriptors: few } = limits;

  t.test('while few descriptors are left nobody is taken, and who is connected is served', async (t) => {
    let spare = Infinity;
    const told: boolean[] = [];
    let looks = 0;
    const until = async (isSo: () => boolean): Promise<void> => {
      while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
    };
    const descriptors = {
      spare() {
        looks += 1;
        return spare;
      },
      onFew: (isFew: boolean) => void told.push(isFew),
    };
    const { port } = await serve(t, backend, { descriptors });
    const early = await RawConnection.open(port);
    await early.send(request);
    await early.until((text) => statuses(text).length === 1);

    spare = few - 1;
    await until(() => told.length === 1);
    await t.rejects(RawConnection.open(port), { code: 'ECONNREFUSED' });
    await early.send(request);
    await early.until((text) => statuses(text).length === 2);

    spare = 2 * few - 1;
    const looksBefore = looks;
    await until(() => looks >= looksBefore + 3);
    t.strictSame(told, [true], 'it does not begin again at once');

    spare = 2 * few;
    await until(() => told.length === 2);
    t.strictSame(told, [true, false]);
    const again = await RawConnection.open(port);
    await again.send(request);
    await again.until((text) => statuses(text).length === 1);
    for (const connection of [early, again]) connection.reset();
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
