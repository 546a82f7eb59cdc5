import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Everything that is loaded with a file: paths below src, and names of packages. Imports of types alone are not. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const text = readFileSync(path.join(src, file), 'utf8');
  for (const [, what = '', specifier = ''] of text.matchAll(/^(?:import|export) ([^;]*?) from '([^']+)';/gms)) {
    if (what.startsWith('type ')) continue;
    if (specifier.startsWith('.')) {
      loadedWith(path.join(path.dirname(file), specifier).replace(/\.js$/, '.ts'), loaded);
    } else loaded.add(specifier);
  }
  t.notMatch(text, /\b(import|require)\(/, `${file} loads nothing later on`);
  return loaded;
}

function outsiders(entry: string): string[] {
  return [...loadedWith(entry)].filter((name) => !name.startsWith(`client${path.sep}`)).sort();
}

/** The tables of the binary frames: data, and the same for both ends. They import nothing. */
const LAYOUT = path.join('wire', 'feed-layout.ts');

t.test('in a browser the client loads itself, MessagePack and viem', async (t) => {
  t.strictSame(outsiders('client/browser.ts'), ['@msgpack/msgpack', LAYOUT, 'viem'].sort());
});

t.test('in Node it loads ws as well, and nothing native', async (t) => {
  t.strictSame(outsiders('client/node.ts'), ['@msgpack/msgpack', LAYOUT, 'viem', 'ws'].sort());
});

t.test(
  'the trading kit loads viem, texts of the wire and itself, and neither sockets nor the reading client',
  async (t) => {
    const texts = ['pool-errors.ts', 'unconfirmed.ts'].map((name) => path.join('wire', name));
    t.strictSame(outsiders('client/trading/exports.ts'), ['viem', 'viem/actions', ...texts]);
    t.notOk(loadedWith('client/trading/exports.ts').has(path.join('client', 'orderbook-client.ts')));
  },
);

t.test('quotebook/client/trading is what the package gives by that name', async (t) => {
  const { Trader } = await import('quotebook/client/trading');
  const { Trader: direct } = await import('../../src/client/trading/exports.js');
  t.equal(Trader, direct);
});

t.test('quotebook/client is what the package gives by that name', async (t) => {
  const { OrderbookClient } = await import('quotebook/client');
  const { OrderbookClient: direct } = await import('../../src/client/node.js');
  t.equal(OrderbookClient, direct);
});
