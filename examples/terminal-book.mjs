// Shows one pool's book in the terminal, and draws it again whenever it changes.
//   node examples/terminal-book.mjs READY_FILE [POOL_NUMBER]
// READY_FILE is what `npm start` writes. Ctrl-C ends it.
import { readFileSync } from 'node:fs';
import { formatEther } from 'viem';
import { OrderbookClient } from 'quotebook/client';

const LEVELS = 8;
const BAR_CHARACTERS = 24;
/** A burst of changes is drawn once. */
const DRAW_EVERY_MS = 100;
const [HOME, CLEAR_LINE, CLEAR_BELOW] = ['\x1b[H', '\x1b[K', '\x1b[J'];
const [RED, GREEN, QUIET, PLAIN] = ['\x1b[31m', '\x1b[32m', '\x1b[2m', '\x1b[0m'];

const [readyFile = 'data/ready.json', poolNumber = '0'] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, chainId, pools } = { ...ready, ...ready.gateways?.[0] };
const pool = pools[Number(poolNumber)];
if (pool === undefined) {
  console.error(
    `POOL_NUMBER is from 0 to ${pools.length - 1}:\n  node examples/terminal-book.mjs READY_FILE [POOL_NUMBER]`,
  );
  process.exit(2);
}
const { poolAddress } = pool;
const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: String(chainId), encoding: 'msgpack' });
const [listed] = (await client.rest.pools()).filter((pool) => pool.poolAddress === poolAddress);
const name = listed === undefined ? poolAddress : `${listed.base} ${listed.expiration} ${listed.strike} ${listed.type}`;
const followed = client.followBook({ poolAddress, depth: LEVELS });
let chains = 'no heartbeat yet';

function line(level, largest, colour) {
  if (level === undefined) return '';
  const length = Number((level.size * BigInt(BAR_CHARACTERS)) / largest);
  const columns = [
    formatEther(level.price).padStart(22),
    formatEther(level.size).padStart(22),
    String(level.count).padStart(7),
  ];
  return `${colour}${columns.join('')}  ${'█'.repeat(length)}${PLAIN}`;
}

function draw() {
  const { bids, asks } = followed.book;
  const largest = [...bids, ...asks].reduce((most, { size }) => (size > most ? size : most), 1n);
  const rows = Array.from({ length: LEVELS }, (_, i) => i);
  const lines = [
    `${name}   ${followed.state}, connection ${client.connection}`,
    `${QUIET}${chains}${PLAIN}`,
    `${QUIET}${'price'.padStart(22)}${'size'.padStart(22)}${'quotes'.padStart(7)}${PLAIN}`,
    ...rows.toReversed().map((i) => line(asks[i], largest, RED)),
    '',
    ...rows.map((i) => line(bids[i], largest, GREEN)),
  ];
  process.stdout.write(`${HOME}${lines.map((text) => `${text}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`);
}

let timer;
function drawSoon() {
  timer ??= setTimeout(() => {
    timer = undefined;
    draw();
  }, DRAW_EVERY_MS);
}

followed.onChange(drawSoon);
followed.onState(drawSoon);
client.onConnection(drawSoon);
client.onHeartbeat(({ chains: { settlement, stream } }) => {
  const shown = ({ block, stale }) => stale ?? `block ${block?.blockNumber ?? '?'}`;
  chains = `settlement ${shown(settlement)}, stream ${shown(stream)}`;
  drawSoon();
});
process.once('SIGINT', () => {
  clearTimeout(timer);
  client.close();
});
