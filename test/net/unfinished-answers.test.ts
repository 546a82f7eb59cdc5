import t from 'tap';
import type { NetRequest } from '../../src/net/net.js';
import { UnfinishedAnswers } from '../../src/net/unfinished-answers.js';
import { until } from '../until.js';
import { head, RawConnection } from './raw-connection.js';
import { eachBackend, quietSockets, serve } from './serving.js';

const LIMITS = { unfinishedAnswersBytes: 100, answerGraceMs: 60_000, leastAnswerBytesPerSecond: 1_000 };

function crowd(...names: string[]) {
  const cut: string[] = [];
  return { cut, answers: names.map((name) => ({ cut: () => cut.push(name) })) };
}

t.test('beyond the budget the oldest answer is cut off', async (t) => {
  const unfinished = new UnfinishedAnswers(LIMITS);
  const { cut, answers } = crowd('a', 'b', 'c', 'd');
  for (const answer of answers) unfinished.begin(answer, answer, 40);
  t.strictSame(cut, ['a', 'b']);
  for (const answer of answers) unfinished.end(answer);
  for (const answer of answers.slice(2)) unfinished.begin(answer, answer, 50);
  t.strictSame(cut, ['a', 'b'], 'what has ended counts no more');
  for (const answer of answers) unfinished.end(answer);
});

t.test('answers that share a body count once', async (t) => {
  const unfinished = new UnfinishedAnswers(LIMITS);
  const { cut, answers } = crowd('a', 'b', 'c', 'd');
  const body = {};
  for (const answer of answers) unfinished.begin(answer, body, 90);
  t.strictSame(cut, []);
  for (const answer of answers) unfinished.end(answer);
});

/** uWebSockets.js cuts off a client that takes nothing after 10 s, the tests' node:http after 5. */
const LIBRARY_MS = 4_000;

eachBackend(t, (t, backend) => {
  for (const body of ['.'.repeat(50 << 20), new Uint8Array(50 << 20)]) {
    t.test(`a client that takes its ${typeof body} too slowly is cut off`, async (t) => {
      let request: NetRequest | undefined;
      const { port } = await serve(t, backend, {
        http(asked) {
          request = asked;
          return { status: 200, headers: {}, body };
        },
        sockets: quietSockets,
        limits: { answerGraceMs: 50, leastAnswerBytesPerSecond: 1 << 30 },
      });
      const connection = await RawConnection.open(port);
      let isClosed = false;
      connection.socket.on('close', () => (isClosed = true));
      connection.socket.on('error', () => undefined);
      connection.socket.pause();
      const startMs = performance.now();
      await connection.send(head('GET / HTTP/1.1', 'Host: x'));
      await until(() => request?.aborted === true);
      t.ok(performance.now() - startMs < LIBRARY_MS, 'by us');
      connection.socket.resume();
      await until(() => isClosed);
      t.ok(connection.socket.bytesRead < body.length);
    });
  }
});
