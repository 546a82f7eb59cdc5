import { randomBytes } from 'node:crypto';
import t from 'tap';
import { head, RawConnection, statuses } from '../net/raw-connection.js';
import { assertDocumentedBytes } from '../e2e/documented-bytes.js';
import { attackerAddress, isLong, Siege } from '../faults/siege.js';

const GUESSES = isLong ? 1_000_000 : 30_000;
const CONNECTIONS = 50;
/** Requests of a connection that may wait for their answers. */
const IN_FLIGHT = 16;
const GUESSES_PER_ADDRESS = 10;

t.setTimeout(isLong ? 1_800_000 : 240_000);

/** As long as a key is, and of its alphabet. */
const guess = (): string => randomBytes(32).toString('base64url');

/**
 * Asks with one guess after the other, until there were `count` or the signal says so. Gives how often each status
 * came.
 */
async function guessing(siege: Siege, count: number, signal: AbortSignal | null): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const guessers = Array.from({ length: CONNECTIONS }, async (_, i) => {
    for (let left = count / CONNECTIONS; left > 0 && signal?.aborted !== true; left -= IN_FLIGHT) {
      const connection = await RawConnection.open(siege.port, '127.0.0.1', attackerAddress(i));
      for (let asked = 0; asked < IN_FLIGHT; asked++) {
        const seen = statuses(connection.text).length;
        await connection.send(head('GET /orders?chainId=421613 HTTP/1.1', 'Host: x', `x-apikey: ${guess()}`));
        await connection.until((text) => statuses(text).length > seen && text.endsWith('}'));
      }
      for (const status of statuses(connection.text)) counts.set(status, (counts.get(status) ?? 0) + 1);
      assertDocumentedBytes(connection.received, Array<string>(IN_FLIGHT).fill('GET /orders'));
      connection.reset();
    }
  });
  await Promise.all(guessers);
  return counts;
}

await t.test(`${GUESSES} guessed keys`, async (t) => {
  const siege = await Siege.lay(t);
  await t.test('open nothing, and most of them are not even looked up', async (t) => {
    const counts = await guessing(siege, GUESSES, null);
    t.strictSame([...counts.keys()].sort(), [401, 429], 'each is refused');
    t.equal(counts.get(401), CONNECTIONS * GUESSES_PER_ADDRESS, 'ten of each address as unknown, all others at once');
  });
  await t.test('do not keep a key that holds from being served, from the same address', async (t) => {
    const connection = await RawConnection.open(siege.port, '127.0.0.1', attackerAddress(0));
    const { apiKey } = siege.service;
    await connection.send(head('GET /orders?chainId=421613 HTTP/1.1', 'Host: x', `x-apikey: ${apiKey}`));
    t.strictSame(statuses(await connection.until((text) => text.endsWith('}'))), [200]);
    assertDocumentedBytes(connection.received, ['GET /orders']);
    connection.reset();
  });
  await t.test('do not slow a good client down', (t) =>
    siege.withstands(t, async (signal) => {
      await guessing(siege, GUESSES, signal);
    }),
  );
  await t.test('leave nothing behind in memory', (t) =>
    siege.staysFlat(t, async () => {
      await guessing(siege, GUESSES / 2, null);
    }),
  );
});
