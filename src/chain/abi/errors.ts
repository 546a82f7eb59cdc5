import { erc20Abi } from './erc20.js';
import { erc20RouterAbi } from './erc20-router.js';
import { libraryErrorsAbi } from './libraries.js';
import { optionTokenAbi } from './option-token.js';
import { oracleAdapterAbi } from './oracle-adapter.js';
import { poolAbi } from './pool.js';
import { poolFactoryAbi } from './pool-factory.js';
import { vaultAbi } from './vault.js';

/** Every named error that a call of ours can come back with, whichever contract further down raised it. */
export const contractErrorsAbi = [
  ...poolAbi,
  ...optionTokenAbi,
  ...poolFactoryAbi,
  ...vaultAbi,
  ...erc20Abi,
  ...erc20RouterAbi,
  ...oracleAdapterAbi,
  ...libraryErrorsAbi,
].filter((item) => item.type === 'error');
