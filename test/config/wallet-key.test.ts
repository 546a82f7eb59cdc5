import t from 'tap';
import { fillCalldata } from '../../src/chain/contracts/fills.js';
import { readWalletKey, walletTerms } from '../../src/config/wallet-key.js';
import { sampleQuote } from '../engine/samples.js';

const digits = 'ab'.repeat(32);
const noFile = (): Promise<string> => Promise.reject(new Error('not to be read'));

t.test('the key comes from the setting, with or without its prefix', async (t) => {
  t.equal(await readWalletKey({ walletKey: digits, walletKeyFile: null }, noFile), `0x${digits}`);
  t.equal(await readWalletKey({ walletKey: `0x${digits}`, walletKeyFile: null }, noFile), `0x${digits}`);
  t.equal(await readWalletKey({ walletKey: null, walletKeyFile: null }, noFile), null);
});

t.test('or from a file, with or without a newline at its end', async (t) => {
  const key = await readWalletKey({ walletKey: null, walletKeyFile: 'key' }, (path) =>
    Promise.resolve(`${path && digits}\n`),
  );
  t.equal(key, `0x${digits}`);
});

t.test('a file that holds anything else is refused without being shown', async (t) => {
  const settings = { walletKey: null, walletKeyFile: 'key' };
  for (const text of ['s3cret', digits.slice(1), `00${digits}`, `${digits} ${digits}`]) {
    await t.rejects(
      readWalletKey(settings, () => Promise.resolve(text)),
      { message: 'walletKeyFile key does not hold 32 bytes in hex' },
    );
  }
  const missing = Object.assign(new Error(), { code: 'ENOENT' });
  await t.rejects(
    readWalletKey(settings, () => Promise.reject(missing)),
    /cannot be read: there is no such file/,
  );
});

const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';

t.test('32 bytes that are no private key are refused by name, without being shown', async (t) => {
  for (const wrong of ['0'.repeat(64), ORDER, `0x${ORDER.toUpperCase()}`, 'f'.repeat(64)]) {
    const why = 'no private key: it has to be above zero and below the order of the curve secp256k1';
    await t.rejects(readWalletKey({ walletKey: wrong, walletKeyFile: null }, noFile), {
      message: `walletKey is ${why}`,
    });
    await t.rejects(
      readWalletKey({ walletKey: null, walletKeyFile: 'key' }, () => Promise.resolve(wrong)),
      { message: `walletKeyFile key holds ${why}` },
    );
  }
});

t.test('the lowest and the highest private key are taken', async (t) => {
  for (const right of [`${'0'.repeat(63)}1`, `${ORDER.slice(0, -1)}0`])
    t.equal(await readWalletKey({ walletKey: right, walletKeyFile: null }, noFile), `0x${right}`);
});

t.test('a fill can name a referrer that the setting has in capitals', async (t) => {
  const digits = 'AB'.repeat(20);
  const settings = { walletSpendPerDayGwei: null, operatorTokensPerDay: [], operatorReferrer: `0x${digits}` };
  const { referrer } = walletTerms(settings);
  t.equal(referrer, `0x${digits.toLowerCase()}`);
  if (referrer !== undefined) t.match(fillCalldata(sampleQuote({ n: 1 }), 1n, referrer), digits.toLowerCase());
});
