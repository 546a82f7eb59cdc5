import t from 'tap';
import { deployer, DEV_ACCOUNTS } from '../../../src/chain/dev/dev-client.js';
import { derivedAccounts } from './derived-accounts.js';

t.test("the accounts of a local chain are anvil's first ten, and the deployer is the next", async (t) => {
  const derived = derivedAccounts(DEV_ACCOUNTS.length + 1);
  t.strictSame(DEV_ACCOUNTS, derived.slice(0, -1));
  t.equal(deployer, derived.at(-1)?.address);
});
