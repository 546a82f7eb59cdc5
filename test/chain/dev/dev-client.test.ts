import t from 'tap';
import { deployer, DEPLOYER_KEY, DEV_ACCOUNTS } from '../../../src/chain/dev/dev-client.js';
import { derivedAccounts } from './derived-accounts.js';

t.test("the accounts of a local chain are anvil's first ten, and the deployer is the next", async (t) => {
  const derived = derivedAccounts(DEV_ACCOUNTS.length + 1);
  t.strictSame(DEV_ACCOUNTS, derived.slice(0, -1));
  t.strictSame({ address: deployer, privateKey: DEPLOYER_KEY }, derived.at(-1));
});
