import t from 'tap';
import { RawConnection, statuses, upgradeHead } from '../net/raw-connection.js';
import { assertDocumentedBytes } from '../e2e/documented-bytes.js';
import { attackerAddress, isLong, Siege } from '../faults/siege.js';

const SOCKETS = 5_000;
/** A hundred addresses open more than one address may have, so that both the taken and the refused are many. */
const ADDRESSES = 100;
const AT_ONCE = 100;
const ALLOWED_PER_ADDRESS = 32;

t.setTimeout(isLong ? 900_000 : 240_000);

/** Opens them all, and gives the status that each got; none is closed before `signal` says so, or all were answered. */
async function flood(siege: Siege, signal: AbortSignal | null): Promise<number[]> {
  const open: RawConnection[] = [];
  const answers: number[] = [];
  for (let start = 0; start < SOCKETS && signal?.aborted !== true; start += AT_ONCE) {
    const connections = Array.from({ length: AT_ONCE }, async (_, i) => {
      const from = attackerAddress((start + i) % ADDRESSES);
      const connection = await RawConnection.open(siege.port, '127.0.0.1', from);
      open.push(connection);
      await connection.send(upgradeHead());
      answers.push(...statuses(await connection.until((text) => text.includes('\r\n\r\n'))));
      assertDocumentedBytes(connection.received, ['GET /']);
    });
    await Promise.all(connections);
  }
  for (const connection of open) connection.reset();
  await Promise.all(open.map(({ closed }) => closed));
  return answers;
}

await t.test(`${SOCKETS} connections from ${ADDRESSES} addresses`, async (t) => {
  const siege = await Siege.lay(t);
  await t.test('each address gets as many as it may have, and a plain refusal beyond', async (t) => {
    const answers = await flood(siege, null);
    const taken = answers.filter((status) => status === 101).length;
    const refused = answers.filter((status) => status === 429).length;
    t.strictSame([taken, refused], [ADDRESSES * ALLOWED_PER_ADDRESS, SOCKETS - ADDRESSES * ALLOWED_PER_ADDRESS]);
  });
  await t.test('do not slow a good client down', (t) =>
    siege.withstands(t, async (signal) => {
      await flood(siege, signal);
    }),
  );
  await t.test('leave nothing behind in memory', (t) =>
    siege.staysFlat(t, async () => {
      await flood(siege, null);
    }),
  );
});
