import { createRequire } from 'node:module';
import t from 'tap';
import { type Abi, type AbiEvent, type AbiFunction, toEventSelector, toFunctionSelector } from 'viem';
import { formatAbiItem } from 'viem/utils';
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

const require = createRequire(import.meta.url);

function published(name: string): Abi {
  return require(`@premia/v3-abi/abi/${name}.json`) as Abi;
}

/** What the wire knows of an item: its selector or topic, what it returns, and which of its arguments are indexed. */
function wireForms(abi: Abi): Set<string> {
  const forms = new Set<string>();
  for (const item of abi) {
    if (item.type === 'function') forms.add(functionForm(item));
    if (item.type === 'event') forms.add(eventForm(item));
    if (item.type === 'error') forms.add(`error ${toFunctionSelector(formatAbiItem(item))}`);
  }
  return forms;
}

function functionForm(item: AbiFunction): string {
  const returned = formatAbiItem({ ...item, name: 'returns', inputs: item.outputs });
  const changes = item.stateMutability === 'view' || item.stateMutability === 'pure' ? 'reads' : 'writes';
  return `function ${toFunctionSelector(item)} ${changes} ${returned}`;
}

function eventForm(item: AbiEvent): string {
  return `event ${toEventSelector(item)} ${item.inputs.map((input) => (input.indexed === true ? 'i' : '-')).join('')}`;
}

function missingFrom(declared: Abi, ...names: string[]): string[] {
  const known = new Set(names.flatMap((name) => [...wireForms(published(name))]));
  return declared
    .filter((item) => item.type === 'function' || item.type === 'event' || item.type === 'error')
    .filter((item) => ![...wireForms([item])].every((form) => known.has(form)))
    .map((item) => item.name);
}

t.test('every declared item of a protocol contract has the published selector, topic and return types', async (t) => {
  t.same(missingFrom(orderbookStreamAbi, 'OrderbookStream'), []);
  t.same(missingFrom(poolFactoryAbi, 'IPoolFactory'), []);
  t.same(missingFrom(poolAbi, 'IPool'), []);
  t.same(missingFrom(optionTokenAbi, 'IPool'), []);
  t.same(missingFrom(vaultAbi, 'IVault', 'IUnderwriterVault'), []);
  t.same(missingFrom(erc20RouterAbi, 'IERC20Router'), []);
  t.same(missingFrom(oracleAdapterAbi, 'IOracleAdapter'), []);
  t.same(missingFrom(volatilityOracleAbi, 'IVolatilityOracle'), []);
});

t.test('ERC-20 is the published one plus its standard metadata', async (t) => {
  t.same(missingFrom(erc20Abi, 'IERC20', 'IVault'), []);
});

t.test(
  'every published error of the factory and the vaults is declared, so that a refusal always has its name',
  async (t) => {
    const declared = wireForms(contractErrorsAbi);
    for (const name of ['IPoolFactory', 'IVault', 'IUnderwriterVault', 'IERC20Router']) {
      const undeclared = published(name)
        .filter((item) => item.type === 'error')
        .filter((item) => /^(PoolFactory|Vault|ERC20Router)__/.test(item.name))
        .filter((item) => ![...wireForms([item])].every((form) => declared.has(form)))
        .map((item) => item.name);
      t.same(undeclared, [], name);
    }
  },
);

t.test('the selectors that tools outside know', async (t) => {
  const selectors = new Map(
    poolAbi.filter((item) => item.type === 'function').map((item) => [item.name, toFunctionSelector(item)]),
  );
  t.equal(selectors.get('isQuoteOBValid'), '0x6e18174e');
  t.equal(selectors.get('fillQuoteOB'), '0xafc88f96');
  const aggregate3 = multicall3Abi.find((item) => item.name === 'aggregate3');
  t.equal(aggregate3 && toFunctionSelector(aggregate3), '0x82ad56cb');
});
