import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { type Abi, toEventSelector, toFunctionSelector } from 'viem';
import { formatAbiItem } from 'viem/utils';
import { artifactText, compileContracts } from '../../../scripts/solidity-compiler.js';
import {
  contractErrorsAbi,
  erc20Abi,
  erc20RouterAbi,
  multicall3Abi,
  optionTokenAbi,
  oracleAdapterAbi,
  orderbookStreamAbi,
  poolAbi,
  poolFactoryAbi,
  vaultAbi,
  volatilityOracleAbi,
} from '../../../src/chain/contracts/abi.js';
import { CAPPED_MULTICALL_CODE } from '../../../src/chain/contracts/multicall.js';
import { devVolatilityAbi, priceOracleAbi, testTokenAbi } from '../../../src/chain/dev/contracts.js';
import { discountsAbi, lockableAbi } from '../dev-actions.js';

// The compiler needs seconds of a whole core; tests beside it may leave it a fraction of one.
t.setTimeout(120_000);

const require = createRequire(import.meta.url);
const contractsDir = new URL('contracts/', pathToFileURL(`${process.cwd()}/`));
const artifactsDir = new URL('artifacts/', contractsDir);

function committed(name: string): { abi: Abi } {
  return JSON.parse(readFileSync(new URL(`${name}.json`, artifactsDir), 'utf8')) as { abi: Abi };
}

/** Functions and events (`calls`), or errors, by the selector or topic that the wire knows. */
function selectors(abi: Abi, kind: 'calls' | 'errors'): Map<string, string> {
  const forms = new Map<string, string>();
  for (const item of abi) {
    if (kind === 'errors' && item.type === 'error') forms.set(toFunctionSelector(formatAbiItem(item)), item.name);
    if (kind === 'calls' && item.type === 'function') forms.set(toFunctionSelector(item), item.name);
    if (kind === 'calls' && item.type === 'event') {
      const indexed = item.inputs.map((input) => (input.indexed === true ? 'i' : '-')).join('');
      forms.set(toEventSelector(item) + indexed, item.name);
    }
  }
  return forms;
}

t.test('the committed artifacts are what the sources compile to', async (t) => {
  const compiled = compileContracts(contractsDir);
  t.same(readdirSync(artifactsDir).sort(), [...compiled.keys()].map((name) => `${name}.json`).sort());
  for (const [name, artifact] of compiled) {
    const text = readFileSync(new URL(`${name}.json`, artifactsDir), 'utf8');
    t.ok(text === artifactText(artifact), `${name} is up to date: run "npm run contracts" when it is not`);
  }
  // Without a constructor, what runs stands at the end of what creates it.
  t.ok(compiled.get('CappedMulticall')?.bytecode.endsWith(CAPPED_MULTICALL_CODE.slice(2)), 'as does the code in src');
});

t.test('our contracts have every function and event that the service calls or reads', async (t) => {
  const served: readonly [string, Abi][] = [
    ['OrderbookStream', orderbookStreamAbi],
    ['PoolFactory', poolFactoryAbi],
    ['Pool', [...poolAbi, ...optionTokenAbi, ...lockableAbi]],
    ['Vault', vaultAbi],
    ['TestToken', [...erc20Abi, ...testTokenAbi]],
    ['ERC20Router', erc20RouterAbi],
    ['PriceOracle', [...oracleAdapterAbi, ...priceOracleAbi]],
    ['VolatilityOracle', [...volatilityOracleAbi, ...devVolatilityAbi]],
    ['Discounts', discountsAbi],
    ['Multicall3', multicall3Abi],
  ];
  for (const [name, abi] of served) {
    const ours = selectors(committed(name).abi, 'calls');
    const absent = [...selectors(abi, 'calls')].filter(([selector]) => !ours.has(selector)).map(([, item]) => item);
    t.same(absent, [], name);
  }
});

t.test('whatever our contracts share a name of with the published ones is the same on the wire', async (t) => {
  const pairs = [
    ['OrderbookStream', 'OrderbookStream'],
    ['PoolFactory', 'IPoolFactory'],
    ['Pool', 'IPool'],
    ['Vault', 'IUnderwriterVault'],
    ['ERC20Router', 'IERC20Router'],
    ['PriceOracle', 'IOracleAdapter'],
    ['VolatilityOracle', 'IVolatilityOracle'],
    ['TestToken', 'ISolidStateERC20'],
  ] as const;
  for (const [ours, theirs] of pairs) {
    const published = require(`@premia/v3-abi/abi/${theirs}.json`) as Abi;
    for (const kind of ['calls', 'errors'] as const) {
      const known = selectors(published, kind);
      const names = new Set(known.values());
      const different = [...selectors(committed(ours).abi, kind)]
        .filter(([selector, name]) => names.has(name) && !known.has(selector))
        .map(([, name]) => name);
      t.same(different, [], `${ours} ${kind}`);
    }
  }
});

t.test('every error that our contracts raise has a declared name', async (t) => {
  const declared = selectors(contractErrorsAbi, 'errors');
  for (const name of ['PoolFactory', 'Pool', 'Vault', 'TestToken', 'ERC20Router', 'PriceOracle', 'VolatilityOracle']) {
    const unknown = [...selectors(committed(name).abi, 'errors')].filter(([selector]) => !declared.has(selector));
    // Arithmetic of the local contracts; it stands for the panics and overflows of the real ones.
    t.same(
      unknown.filter(([, error]) => error !== 'FixedPoint__Overflow').map(([, error]) => error),
      [],
      name,
    );
  }
});
