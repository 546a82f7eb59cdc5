import t from 'tap';
import { head, RawConnection, upgradeHead } from '../net/raw-connection.js';
import { assertDocumentedBytes } from '../e2e/documented-bytes.js';
import { attackerAddress, isLong, Siege } from '../faults/siege.js';

const SOCKETS = 1_000;
const SOCKETS_PER_ADDRESS = 25;
const FEED_MS = 500;
/**
 * What the service gives a connection without a whole head, or a whole body: 10 s, and half of it to look at the clock.
 */
const CUT_OFF_MS = 15_000;

t.setTimeout(isLong ? 900_000 : 240_000);

interface Manner {
  readonly request: string;
  /** Sent once the server has answered. */
  readonly afterAnswer?: Uint8Array;
  /** Sent again and again. */
  readonly more: string;
}

const manners: Readonly<Record<string, Manner>> = {
  head: { request: 'GET /quotes HTTP/1.1\r\nHost: x\r\n', more: 'a: b\r\n' },
  body: { request: head('POST /quotes HTTP/1.1', 'Host: x', 'Content-Length: 60000'), more: ' ' },
  // The start of a frame of 512 bytes.
  frame: { request: upgradeHead(), afterAnswer: Uint8Array.of(0x81, 0xfe, 2, 0, 0, 0, 0, 0), more: 'x' },
};

/**
 * Resolves when all are closed, to how long the last one was open. With a signal they close themselves when it says so.
 */
async function crowd(siege: Siege, behaviours: readonly Manner[], signal?: AbortSignal): Promise<number> {
  const connections: RawConnection[] = [];
  const startMs = performance.now();
  signal?.addEventListener('abort', () => {
    for (const connection of connections) connection.reset();
  });
  const slow = async ({ request, afterAnswer, more }: Manner, i: number): Promise<void> => {
    const from = attackerAddress(Math.floor(i / SOCKETS_PER_ADDRESS));
    const connection = await RawConnection.open(siege.port, '127.0.0.1', from);
    connections.push(connection);
    if (signal?.aborted === true) return connection.reset();
    connection.socket.write(request);
    if (afterAnswer !== undefined) {
      await connection.until((text) => text.includes('\r\n\r\n')).catch(() => undefined);
      connection.socket.write(afterAnswer);
    }
    const feeding = setInterval(() => connection.socket.writable && connection.socket.write(more), FEED_MS);
    await connection.closed;
    clearInterval(feeding);
    assertDocumentedBytes(connection.received, [request.slice(0, request.indexOf(' HTTP'))]);
  };
  const each = behaviours.flatMap((manner) =>
    Array.from({ length: Math.ceil(SOCKETS / behaviours.length) }, () => manner),
  );
  await Promise.all(each.map(slow));
  return performance.now() - startMs;
}

const crowds = isLong
  ? Object.entries(manners).map(([name, manner]) => [name, [manner]] as const)
  : [['head, body and frame', Object.values(manners)] as const];

await t.test(`${SOCKETS} sockets that send a bit at a time`, async (t) => {
  // A socket has to say who it is within this time, or is closed: that is what ends a frame that never ends.
  const siege = await Siege.lay(t, { settings: { QUOTEBOOK_WS_AUTH_DEADLINE_MS: '10000' } });
  for (const [name, behaviours] of crowds) {
    await t.test(`${name}: are cut off, each of them`, async (t) => {
      const lastMs = await crowd(siege, behaviours);
      t.ok(lastMs < CUT_OFF_MS, `the last one after ${(lastMs / 1000).toFixed(1)} s`);
    });
    await t.test(`${name}: do not slow a good client down`, (t) =>
      siege.withstands(t, async (signal) => {
        await crowd(siege, behaviours, signal);
      }),
    );
  }
});
