import pino from 'pino';
import t from 'tap';
import { briefly, endpointTroubles, TroubleLog } from '../../src/app/trouble-log.js';
import { RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import { ManualClock } from '../system/manual-clock.js';

const CALM_MS = 60_000;

t.test('the first failure is news, the next are not, until it was well for long enough', (t) => {
  const clock = new ManualClock();
  const troubles = new TroubleLog(clock, CALM_MS);
  t.equal(troubles.succeeded('a'), null);
  t.ok(troubles.failed('a'));
  for (let i = 0; i < 30; i++) {
    clock.advance(1_000);
    t.notOk(troubles.failed('a'));
    t.equal(troubles.succeeded('a'), null, 'one that blinks is not well');
  }
  t.ok(troubles.failed('b'), 'each for itself');
  clock.advance(CALM_MS + 1);
  t.strictSame(troubles.succeeded('a'), { failures: 31, lastedSeconds: 30 });
  t.equal(troubles.succeeded('a'), null);
  t.ok(troubles.failed('a'));
  t.end();
});

t.test('what nobody says is well again is news once more after the same time', (t) => {
  const clock = new ManualClock();
  const troubles = new TroubleLog(clock, CALM_MS);
  troubles.failed('a');
  clock.advance(CALM_MS);
  t.notOk(troubles.failed('a'));
  clock.advance(CALM_MS + 1);
  t.ok(troubles.failed('a'));
  t.end();
});

t.test('an outage of an endpoint is one warning without a stack and one line when it is over', (t) => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const { onError, onAnswer } = endpointTroubles(logger, clock, CALM_MS);
  const url = 'https://node.example/v2/secret';
  for (let i = 0; i < 100; i++) {
    onError(new RpcUnreachable('No answer to eth_call', { cause: new Error('connect ECONNREFUSED') }), url);
    clock.advance(100);
  }
  clock.advance(CALM_MS);
  for (let i = 0; i < 100; i++) onAnswer(url);
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [
      {
        level: 40,
        msg: 'chain endpoint failed',
        host: 'node.example',
        reason: 'RpcUnreachable: No answer to eth_call: connect ECONNREFUSED',
      },
      { level: 30, msg: 'chain endpoint recovered', host: 'node.example', failures: 100, lastedSeconds: 10 },
    ],
  );
  t.equal(lines.length, 2);
  t.notMatch(lines.join(), /secret|"stack"/);
  t.end();
});

t.test('an error in brief has its cause in it, and no stack', (t) => {
  t.equal(briefly(new TypeError('no')), 'TypeError: no');
  t.equal(briefly(new Error('no', { cause: new Error('why') })), 'Error: no: why');
  t.end();
});
