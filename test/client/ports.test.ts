import t from 'tap';
import { type SocketConstructor, systemPorts } from '../../src/client/ports.js';

t.test('what is to wait for ever, or for months, does not come at once', async (t) => {
  const { clock } = systemPorts(Object as unknown as SocketConstructor);
  let come = 0;
  const cancels = [Infinity, 2 ** 31].map((delayMs) => clock.after(delayMs, () => (come += 1)));
  await new Promise<void>((resolve) => void clock.after(20, resolve));
  t.equal(come, 0);
  for (const cancel of cancels) cancel();
});
