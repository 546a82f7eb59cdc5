import t from 'tap';
import { ChainHealth } from '../../src/chain/chain-health.js';
import { ManualClock } from '../system/manual-clock.js';

const NOW = Date.UTC(2024, 0, 1) / 1000;
const headAt = (timestamp: number) => ({ number: 7, hash: '0x01', parentHash: '0x00', timestamp }) as const;

function watched(maxHeadAgeSeconds: number | null) {
  const clock = new ManualClock(NOW * 1000);
  return { clock, health: new ChainHealth('stream', clock, 10_000, maxHeadAgeSeconds) };
}

t.test('a chain is stale until it has shown a block', async (t) => {
  const { health } = watched(null);
  t.strictSame(health.status(), { head: null, stale: 'stream: no block has been read yet' });
  health.onHead(headAt(NOW));
  t.strictSame(health.status(), { head: headAt(NOW), stale: null });
});

t.test('without an answer for more than ten seconds it is stale, and with the next it is not', async (t) => {
  const { clock, health } = watched(null);
  health.onHead(headAt(NOW));
  clock.advance(10_000);
  t.equal(health.status().stale, null);
  clock.advance(1);
  t.equal(health.status().stale, 'stream: no answer for 10 s');
  health.onHead(headAt(NOW));
  t.equal(health.status().stale, null);
});

t.test('the age of its head counts where the profile says how old it may be', async (t) => {
  const { clock, health } = watched(60);
  for (let seconds = 0; seconds <= 60; seconds += 10) {
    health.onHead(headAt(NOW));
    t.equal(health.status().stale, null);
    clock.advance(seconds < 60 ? 10_000 : 1_000);
  }
  t.equal(health.status().stale, 'stream: the newest block is 61 s old');
  health.onHead(headAt(NOW + 61));
  t.equal(health.status().stale, null);
});

t.test('and nowhere else: a chain without work makes no blocks', async (t) => {
  const { clock, health } = watched(null);
  clock.advance(30 * 86_400_000);
  health.onHead(headAt(NOW));
  t.equal(health.status().stale, null);
});

t.test('a chain that is no longer read stays stale', async (t) => {
  const { health } = watched(null);
  health.onHead(headAt(NOW));
  health.halt('a reorg went too deep');
  health.onHead(headAt(NOW));
  t.equal(health.status().stale, 'stream: a reorg went too deep');
});
