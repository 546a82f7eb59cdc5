import t from 'tap';
import { readWalletKey } from '../../src/config/wallet-key.js';

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
  await t.rejects(
    readWalletKey(settings, () => Promise.resolve('s3cret')),
    {
      message: 'walletKeyFile key does not hold 32 bytes in hex',
    },
  );
  const missing = Object.assign(new Error(), { code: 'ENOENT' });
  await t.rejects(
    readWalletKey(settings, () => Promise.reject(missing)),
    /cannot be read: there is no such file/,
  );
});
