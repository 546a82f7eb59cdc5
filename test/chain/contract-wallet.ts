import { encodeDeployData } from 'viem';
import { compileContracts } from '../../scripts/solidity-compiler.js';
import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import type { Hex } from '../../src/engine/quote.js';
import { DevActions } from './dev-actions.js';

const sources = new URL('../../../test/chain/contract-wallet/', import.meta.url);

/** Deploys an account of that owner which confirms the owner's signatures (EIP-1271). Returns its address. */
export async function deployContractWallet(chain: LocalChain, owner: Hex): Promise<Hex> {
  const wallet = compileContracts(sources).get('ContractWallet');
  if (wallet === undefined) throw new Error('ContractWallet.sol was not compiled');
  const { client } = new DevActions(chain);
  const { abi, bytecode } = wallet;
  const data = encodeDeployData({ abi, bytecode, args: [owner] });
  const [account] = chain.accounts;
  if (account === undefined) throw new Error('The local chain lacks accounts');
  const hash = await client.sendTransaction({ account: account.address, data, gas: 1_000_000n });
  const { contractAddress } = await client.waitForTransactionReceipt({ hash });
  if (contractAddress == null) throw new Error('ContractWallet was not deployed');
  return contractAddress;
}
