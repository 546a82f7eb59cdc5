import t from 'tap';
import { contractErrorsAbi, erc20Abi, LONG, optionTokenAbi, poolAbi, SHORT } from '../../../src/chain/contracts/abi.js';
import { deployments } from '../../../src/chain/contracts/deployments.js';
import {
  collateralTokenAbi,
  ERC20_ROUTERS,
  LONG_ID,
  SHORT_ID,
  tradedPoolAbi,
} from '../../../src/client/trading/abi.js';

const texts = (abi: readonly unknown[]): string[] => abi.map((item) => JSON.stringify(item));

t.test('what the kit declares of a pool the service declares letter for letter', async (t) => {
  const declared = new Set(texts([...poolAbi, ...optionTokenAbi, ...contractErrorsAbi]));
  t.strictSame(
    texts(tradedPoolAbi).filter((item) => !declared.has(item)),
    [],
  );
});

t.test('so does what it declares of a token', async (t) => {
  const declared = new Set(texts(erc20Abi));
  t.strictSame(
    texts(collateralTokenAbi).filter((item) => !declared.has(item)),
    [],
  );
});

t.test('the routers are those of the public deployments, and the ids those of the positions', async (t) => {
  t.strictSame(
    deployments.map(({ settlement, contracts }) => [settlement.chainId, contracts.erc20Router.address]),
    Object.entries(ERC20_ROUTERS).map(([chainId, address]) => [Number(chainId), address]),
  );
  t.strictSame([SHORT_ID, LONG_ID], [SHORT, LONG]);
});
