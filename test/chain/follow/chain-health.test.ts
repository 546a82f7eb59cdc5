import t from 'tap';
import { ChainHealth } from '../../../src/chain/follow/chain-health.js';
import { ManualClock } from '../../system/manual-clock.js';

const NOW = Date.UTC(2024, 0, 1) / 1000;
const headAt = (timestamp: number) => ({ number: 7, hash: '0x01', parentHash: '0x00', timestamp }) as const;

function watched(maxHeadAgeSeconds: number | null) {
  const clock = new ManualClock(NOW * 1000);
  return { clock, health: new ChainHealth('stream', clock, 10_000, maxHeadAgeSeconds) };
}

/** The chain shows this head, and nothing above what was read. */
function looks(health: ChainHealth, timestamp: number): void {
  health.onHead(headAt(timestamp));
  health.onRead();
}

t.test('a chain is stale until it has shown a block', async (t) => {
  const { health } = watched(null);
  t.strictSame(health.status(), { head: null, stale: 'stream: no block has been read yet' });
  health.onHead(headAt(NOW));
  t.strictSame(health.status(), { head: headAt(NOW), stale: null });
});

t.test('without an answer for more than ten seconds it is stale, and with the next it is not', async (t) => {
  const { clock, health } = watched(null);
  looks(health, NOW);
  health.onAsk();
  clock.advance(10_000);
  t.equal(health.status().stale, null);
  clock.advance(1);
  t.equal(health.status().stale, 'stream: no answer for 10 s');
  looks(health, NOW);
  t.equal(health.status().stale, null);
});

t.test('a chain that shows heads and cannot be read is stale after as long, until it is read again', async (t) => {
  const { clock, health } = watched(null);
  health.onHead(headAt(NOW));
  for (let seconds = 0; seconds < 10; seconds += 5) {
    clock.advance(5_000);
    health.onHead(headAt(NOW));
    t.equal(health.status().stale, null);
  }
  clock.advance(2_001);
  t.equal(health.status().stale, 'stream: reading has stood still for 12 s');
  health.onHead(headAt(NOW));
  t.equal(health.status().stale, 'stream: reading has stood still for 12 s', 'another head changes nothing');
  health.onRead();
  t.equal(health.status().stale, null);
});

t.test('while one range after the other is read it is not, however long there are more', async (t) => {
  const { clock, health } = watched(null);
  for (let ranges = 0; ranges < 100; ranges++) {
    health.onHead(headAt(NOW));
    clock.advance(9_000);
    t.equal(health.status().stale, null);
    health.onRead();
  }
});

t.test('of a chain that says nothing at all it is said that it does not answer', async (t) => {
  const { clock, health } = watched(null);
  health.onHead(headAt(NOW));
  health.onRead();
  clock.advance(500);
  health.onAsk();
  clock.advance(10_500);
  t.equal(health.status().stale, 'stream: no answer for 11 s');
  health.onHead(headAt(NOW));
  t.equal(health.status().stale, 'stream: reading has stood still for 11 s', 'and then that it is yet to be read');
});

t.test('of a chain that was not asked it is said that the service is busy', async (t) => {
  const { clock, health } = watched(null);
  looks(health, NOW);
  clock.advance(12_000);
  const busy = 'stream: the service is busy and has not asked for';
  t.equal(health.status().stale, `${busy} 12 s`);
  health.onAsk();
  clock.advance(1_000);
  t.equal(health.status().stale, `${busy} 13 s`, 'it was asked a moment ago');
  clock.advance(15_000);
  health.onAsk();
  t.equal(health.status().stale, 'stream: no answer for 28 s', 'it has left the first question unanswered since');
  looks(health, NOW);
  t.equal(health.status().stale, null);
});

t.test('the age of its head counts where the profile says how old it may be', async (t) => {
  const { clock, health } = watched(60);
  for (let seconds = 0; seconds <= 60; seconds += 10) {
    looks(health, NOW);
    t.equal(health.status().stale, null);
    clock.advance(seconds < 60 ? 10_000 : 1_000);
  }
  t.equal(health.status().stale, 'stream: the newest block is 61 s old');
  looks(health, NOW + 61);
  t.equal(health.status().stale, null);
});

t.test('and nowhere else: a chain without work makes no blocks', async (t) => {
  const { clock, health } = watched(null);
  clock.advance(30 * 86_400_000);
  looks(health, NOW);
  t.equal(health.status().stale, null);
});

t.test('a chain that is no longer read stays stale', async (t) => {
  const { health } = watched(null);
  looks(health, NOW);
  health.halt('a reorg went too deep');
  looks(health, NOW);
  t.equal(health.status().stale, 'stream: a reorg went too deep');
});

t.test('a chain is stale while its book is known to lack events', async (t) => {
  const { health } = watched(null);
  looks(health, NOW);
  health.doubt('events of block 7 have come late');
  looks(health, NOW);
  t.equal(health.status().stale, 'stream: events of block 7 have come late');
  health.doubt(null);
  t.equal(health.status().stale, null);
});
