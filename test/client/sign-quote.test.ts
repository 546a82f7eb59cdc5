import t from 'tap';
import { recoverAddress } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { toHex } from '../../src/auth/keccak256.js';
import { QuoteDigest } from '../../src/auth/quote-signature.js';
import { OrderbookClient, ZERO_ADDRESS } from '../../src/client/node.js';
import { splitSignature } from '../../src/client/sign-quote.js';
import { quote, ScriptedServer } from './scripted-server.js';

const signer = privateKeyToAccount(`0x${'17'.repeat(32)}`);
const pool = { poolAddress: quote(1).poolAddress, poolKey: quote(1).poolKey };

const terms = (side: 'bid' | 'ask') => ({ side, price: 50n, size: 10n });

function client(): OrderbookClient {
  return new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, new ScriptedServer().ports);
}

t.test('a signed quote has the id that the server computes, and a signature that recovers its maker', async (t) => {
  const { quoteId, posted } = await client().signQuote(signer, pool, terms('bid'));
  const digests = new QuoteDigest(421_613, 1);
  const words = { ...posted, price: 50n, size: 10n, pool: { ...pool, poolKey: { ...pool.poolKey, strike: 1800n } } };
  t.equal(quoteId, toHex(digests.digest(words)));
  const { r, s, v } = posted.signature;
  t.ok(v === 27 || v === 28);
  const signature = `${r}${s.slice(2)}${v.toString(16)}` as const;
  t.equal(await recoverAddress({ hash: quoteId, signature }), signer.address);
});

t.test('what is left out is public, an hour long, and of a salt of its own', async (t) => {
  const maker = client();
  const [one, two] = [
    await maker.signQuote(signer, pool, terms('ask')),
    await maker.signQuote(signer, pool, terms('ask')),
  ];
  const now = Date.UTC(2024, 0, 1) / 1000;
  t.match(one.posted, {
    isBuy: false,
    taker: ZERO_ADDRESS,
    deadline: now + 3600,
    price: '50',
    size: '10',
    chainId: '421613',
  });
  t.not(one.quoteId, two.quoteId);
  t.ok(Number.isSafeInteger(two.posted.salt));
});

t.test('a salt is larger than any before it, whatever the clock does', async (t) => {
  const { ports } = new ScriptedServer();
  let wallMs = Date.UTC(2024, 0, 1);
  const clock = { after: () => () => undefined, wallMs: () => wallMs };
  const options = { url: 'http://quotes.test', apiKey: 'k', chainId: '421613' } as const;
  const maker = new OrderbookClient(options, { ...ports, clock });
  const salts: number[] = [];
  for (const movesMs of [0, 0, 1, -2]) {
    wallMs += movesMs;
    salts.push((await maker.signQuote(signer, pool, terms('ask'))).posted.salt);
  }
  const beganAt = Date.UTC(2024, 0, 1) * 1000;
  t.strictSame(salts, [beganAt, beganAt + 1, beganAt + 1000, beganAt + 1001]);
});

t.test('an option that is there and undefined is one that is left out', async (t) => {
  const options: object = { deadline: undefined, salt: undefined, taker: undefined };
  const { posted } = await client().signQuote(signer, pool, { ...terms('ask'), ...options });
  t.match(posted, { deadline: Date.UTC(2024, 0, 1) / 1000 + 3600, salt: Number, taker: ZERO_ADDRESS });
});

t.test('signatures are split into r, s and a v of 27 or 28, and others are refused', async (t) => {
  const [r, s] = ['12'.repeat(32), '0a'.repeat(32)];
  const split = (v: string): unknown => splitSignature(`0x${r}${s.toUpperCase()}${v}`);
  for (const [v, wanted] of [
    ['00', 27],
    ['01', 28],
    ['1b', 27],
    ['1C', 28],
  ] as const) {
    t.strictSame(split(v), { r: `0x${r}`, s: `0x${s}`, v: wanted });
  }
  for (const v of ['', '02', '1d', '001b']) t.throws(() => split(v), TypeError);
});
