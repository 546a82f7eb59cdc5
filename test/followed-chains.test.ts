import pino from 'pino';
import t from 'tap';
import type { ChainSide, ChainSideOptions } from '../src/chain/chain-side-options.js';
import { RpcUnreachable } from '../src/chain/rpc/rpc-errors.js';
import { limits } from '../src/config/limits.js';
import { type FollowedChainsParts, openFollowedChains } from '../src/followed-chains.js';
import { Metrics } from '../src/metrics/metrics.js';
import type { ServiceOptions } from '../src/service-options.js';
import { blockHashOf, newEngine, txHashOf } from './engine/samples.js';
import { ManualClock } from './system/manual-clock.js';

/** What the readers of the chains tell, and the log lines and metrics that come of it. */
function listening(level: string) {
  const lines: string[] = [];
  const logger = pino({ level }, { write: (line: string) => lines.push(line) });
  const metrics = new Metrics();
  const opened: ChainSideOptions[] = [];
  const openChains = (options: ChainSideOptions): ChainSide => {
    opened.push(options);
    return {} as ChainSide;
  };
  const clock = new ManualClock();
  const options = { engine: newEngine(), logger, metrics, openChains, clock, limits };
  openFollowedChains(options as unknown as ServiceOptions, { signing: {} } as FollowedChainsParts);
  const [told] = opened;
  if (told === undefined) throw new Error('The chains were not opened');
  return { lines, metrics, told, clock };
}

const log = {
  blockNumber: 1,
  blockHash: blockHashOf(1),
  txHash: txHashOf(1),
  logIndex: 0,
  timestamp: null,
  address: '0x',
  topics: [],
  data: '0x',
} as const;

t.test('an event that is refused, of which anybody can publish thousands, is a line for debugging alone', async (t) => {
  for (const [level, count] of [
    ['info', 0],
    ['debug', 1],
  ] as const) {
    const { lines, told } = listening(level);
    told.onRefusedEvent('BAD_SIGNATURE', log);
    t.equal(lines.length, count, level);
  }
});

t.test('events that are refused, and those that count for nothing, are counted by why', async (t) => {
  const { metrics, told } = listening('info');
  told.onRefusedEvent('BAD_SIGNATURE', log);
  told.onRefusedEvent('BAD_SIGNATURE', log);
  told.onIgnoredEvent('OTHER_PROVIDER', log);
  const text = await metrics.text();
  t.match(text, /^quotebook_refused_events_total\{why="BAD_SIGNATURE"\} 2$/m);
  t.match(text, /^quotebook_ignored_events_total\{why="OTHER_PROVIDER"\} 1$/m);
});

t.test('reading that fails again and again is one warning and a count, and one line when it is over', async (t) => {
  const { lines, metrics, told, clock } = listening('info');
  for (let failures = 1; failures <= 30; failures++) {
    told.listener.onFailure(new RpcUnreachable('No answer to eth_getLogs'), failures);
    clock.advance(500);
  }
  told.listener.onSuccess();
  clock.advance(limits.troubleCalmMs);
  told.listener.onSuccess();
  told.listener.onSuccess();
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [
      { level: 40, msg: 'reading the chains failed', why: 'RpcUnreachable: No answer to eth_getLogs' },
      { level: 30, msg: 'the chains can be read again', failures: 30 },
    ],
  );
  t.equal(lines.length, 2);
  t.match(await metrics.text(), /^quotebook_read_failures_total 30$/m);
});

t.test('trouble with a transaction is told to people', async (t) => {
  const { lines, told } = listening('warn');
  told.onTxTrouble(7, 'it was replaced');
  t.match(
    lines.map((line) => JSON.parse(line) as object),
    [{ level: 40, nonce: 7, what: 'it was replaced', msg: 'trouble with a transaction' }],
  );
});
