import { decodeFunctionResult, encodeFunctionData, hexToString, isHex } from 'viem';
import type { ChainRole } from '../../engine/command.js';
import type { Rpc } from '../rpc/rpc-client.js';
import { type Hex, ZERO_ADDRESS } from '../../engine/quote.js';
import { ChainAnswerError } from '../rpc/rpc-response.js';
import { type CallResult, readUint } from './abi-encoding.js';
import {
  erc20Abi,
  erc20RouterAbi,
  oracleAdapterAbi,
  orderbookStreamAbi,
  poolAbi,
  poolFactoryAbi,
  vaultAbi,
  volatilityOracleAbi,
} from './abi.js';
import { ChainReader } from './chain-reader.js';
import { revertName } from './contract-errors.js';
import { ANY_SYMBOL, type Profile, type TokenProfile, type VaultProfile } from './deployments.js';
import { decodeAggregate3, encodeAggregate3, type MulticallLimits } from './multicall.js';
import { pairOfVault } from './vault-names.js';

/** The profile does not describe what is on its chains: waiting does not cure it. */
class WrongProfile extends Error {
  override readonly name = 'WrongProfile';
}

/** One question to a contract of the profile, and what is wrong with the answer; null: nothing. */
interface Probe {
  /** How the profile calls the contract. */
  readonly name: string;
  readonly to: Hex;
  readonly data: Hex;
  readonly judge: (answer: CallResult) => string | null;
}

/**
 * Compares the profile with what its chains say at their newest blocks: code, and an answer that only the right kind of
 * contract gives. Rejects with WrongProfile, which lists everything that is wrong, or when a chain does not answer.
 */
export async function checkProfile(
  profile: Profile,
  rpc: Readonly<Record<ChainRole, Rpc>>,
  limits: MulticallLimits,
): Promise<void> {
  const found = await profileProblems(profile, rpc, limits);
  if (found.length === 0) return;
  const lines = found.map(({ name, to, problem }) => `The profile ${profile.name}: ${name} ${to} ${problem}.`);
  throw new WrongProfile(lines.join('\n'));
}

/** A fault of a contract, with its name and address in the profile. */
export interface ContractProblem extends Pick<Probe, 'name' | 'to'> {
  readonly problem: string;
}

/** Everything that is wrong. Rejects when a chain does not answer. */
export async function profileProblems(
  profile: Profile,
  rpc: Readonly<Record<ChainRole, Rpc>>,
  limits: MulticallLimits,
): Promise<ContractProblem[]> {
  const { multicall3 } = profile.contracts;
  const alone = new ChainReader(rpc.settlement, null, limits);
  const ofMulticall = multicall3 === null ? [] : await ask(alone, [multicallProbe(multicall3.address)]);
  const batches = ofMulticall.length === 0 ? (multicall3?.address ?? null) : null;
  const settlement = new ChainReader(rpc.settlement, batches, limits);
  return [
    ...(await ask(new ChainReader(rpc.stream, null, limits), streamProbes(profile))),
    ...ofMulticall,
    ...(await ask(settlement, settlementProbes(profile))),
  ];
}

/** `text` with the profile's name of each contract whose address is in it. */
export function withContractNames(text: string, { contracts }: Pick<Profile, 'contracts'>): string {
  return text.replace(/0x[0-9a-fA-F]{40}\b/g, (address) => {
    const known = Object.entries(contracts).find(
      ([, contract]) => contract !== null && contract.address.toLowerCase() === address.toLowerCase(),
    );
    return known === undefined ? address : `${known[0]} ${address}`;
  });
}

/** Faults of the contracts. */
async function ask(reader: ChainReader, probes: readonly Probe[]): Promise<ContractProblem[]> {
  const answers = await reader.multicall(probes.map(({ to, data }) => ({ to, data })));
  return probes.flatMap(({ name, to, judge }, i) => {
    const answer = answers[i];
    if (answer === undefined) throw new ChainAnswerError('Fewer answers came than were asked for');
    const problem = judge(answer);
    return problem === null ? [] : [{ name, to, problem }];
  });
}

const NO_CODE = 'has no contract on its chain';

/** An address without code answers every call with nothing. */
function isEmpty({ reverted, data }: CallResult): boolean {
  return !reverted && data === '0x';
}

function unless(isRight: (answer: CallResult) => boolean, problem: string): (answer: CallResult) => string | null {
  return (answer) => {
    if (isEmpty(answer)) return NO_CODE;
    return isRight(answer) ? null : problem;
  };
}

function multicallProbe(to: Hex): Probe {
  const isRight = ({ reverted, data }: CallResult): boolean => {
    if (reverted) return false;
    try {
      return decodeAggregate3(data).length === 0;
    } catch (error) {
      if (error instanceof ChainAnswerError) return false;
      throw error;
    }
  };
  return {
    name: 'contracts.multicall3',
    to,
    data: encodeAggregate3([]),
    judge: unless(isRight, 'does not answer as Multicall3'),
  };
}

/** Publishing nothing succeeds and returns nothing, as a call of an address without code does. */
function streamProbes({ contracts }: Profile): Probe[] {
  const to = contracts.orderbookStream.address;
  const name = 'contracts.orderbookStream';
  const add = encodeFunctionData({ abi: orderbookStreamAbi, functionName: 'add', args: [[]] });
  return [
    {
      name,
      to,
      data: UNKNOWN_FUNCTION,
      judge: (answer) => (isEmpty(answer) ? `${NO_CODE}, or one that takes any call` : null),
    },
    { name, to, data: add, judge: (answer) => (isEmpty(answer) ? null : 'does not answer as OrderbookStream') },
  ];
}

/** No contract of the protocol has it. */
const UNKNOWN_FUNCTION: Hex = '0xffffffff';

function settlementProbes(profile: Profile): Probe[] {
  const { contracts, tokens, vaults } = profile;
  const [base, quote = base] = tokens.map(({ address }) => address);
  const noKey = {
    base: ZERO_ADDRESS,
    quote: ZERO_ADDRESS,
    oracleAdapter: ZERO_ADDRESS,
    strike: 0n,
    maturity: 0n,
    isCallPool: true,
  };
  const named = (prefix: string) => (answer: CallResult) =>
    answer.reverted && revertName(answer.data)?.startsWith(prefix) === true;
  const isPrice = (answer: CallResult): boolean =>
    readUint(answer) !== null || (answer.reverted && answer.data !== '0x' && !isOthersError(revertName(answer.data)));
  return [
    {
      name: 'contracts.poolFactory',
      to: contracts.poolFactory.address,
      data: encodeFunctionData({ abi: poolFactoryAbi, functionName: 'getPoolAddress', args: [noKey] }),
      judge: unless(named('PoolFactory__'), 'does not answer as PoolFactory'),
    },
    {
      name: 'contracts.poolDiamond',
      to: contracts.poolDiamond.address,
      data: encodeFunctionData({
        abi: poolAbi,
        functionName: '_takerFeeLowLevel',
        args: [ZERO_ADDRESS, ONE, 0n, true, false, ONE, true],
      }),
      judge: unless((answer) => readUint(answer) !== null, 'does not answer as the diamond of pools'),
    },
    {
      name: 'contracts.erc20Router',
      to: contracts.erc20Router.address,
      // The router moves tokens for pools alone, and says so.
      data: encodeFunctionData({
        abi: erc20RouterAbi,
        functionName: 'safeTransferFrom',
        args: [base ?? ZERO_ADDRESS, ZERO_ADDRESS, ZERO_ADDRESS, 0n],
      }),
      judge: unless(named('ERC20Router__'), 'does not answer as ERC20Router'),
    },
    {
      name: 'contracts.oracleAdapter',
      to: contracts.oracleAdapter.address,
      data: encodeFunctionData({
        abi: oracleAdapterAbi,
        functionName: 'getPrice',
        args: [base ?? ZERO_ADDRESS, quote ?? ZERO_ADDRESS],
      }),
      judge: unless(isPrice, 'does not answer as an oracle adapter'),
    },
    ...volatilityProbes(profile, base ?? ZERO_ADDRESS),
    ...tokens.flatMap((token) => tokenProbes(token, tokens)),
    ...vaults.map((vault) => vaultProbe(vault, profile)),
  ];
}

/** A volatility is asked for at a spot price of 0, which the oracle refuses by name before it looks at the token. */
function volatilityProbes({ contracts: { volatilityOracle } }: Profile, token: Hex): Probe[] {
  if (volatilityOracle === null) return [];
  const isRight = ({ reverted, data }: CallResult): boolean =>
    reverted && revertName(data)?.startsWith('VolatilityOracle__') === true;
  return [
    {
      name: 'contracts.volatilityOracle',
      to: volatilityOracle.address,
      data: encodeFunctionData({
        abi: volatilityOracleAbi,
        functionName: 'getVolatility',
        args: [token, 0n, ONE, ONE],
      }),
      judge: unless(isRight, 'does not answer as VolatilityOracle'),
    },
  ];
}

const ONE = 10n ** 18n;

/** An error that an oracle has no reason to raise. Those that are not known may be of its price feeds. */
function isOthersError(name: string | null): boolean {
  return name !== null && /^(Pool|PoolFactory|Vault|ERC20\w*)__/.test(name);
}

function tokenProbes(
  { symbol, address: to, decimals, onChainSymbol = null }: TokenProfile,
  all: readonly TokenProfile[],
): Probe[] {
  const name = `token ${symbol}`;
  const others = all.map((token) => token.symbol).filter((other) => other !== symbol);
  return [
    {
      name,
      to,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'decimals' }),
      judge(answer) {
        if (isEmpty(answer)) return NO_CODE;
        const said = readUint(answer);
        if (said === null) return 'does not answer decimals()';
        return said === BigInt(decimals) ? null : `has ${said} decimals, not ${decimals}`;
      },
    },
    {
      name,
      to,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'symbol' }),
      judge(answer) {
        // Said of its decimals already.
        if (isEmpty(answer)) return null;
        const said = readSymbol(answer);
        if (said === null) return 'does not answer symbol()';
        if (onChainSymbol === ANY_SYMBOL) return null;
        const isNamed =
          onChainSymbol === null ? isAlike(said, symbol) && !others.includes(said) : said === onChainSymbol;
        return isNamed ? null : `calls itself ${JSON.stringify(said.slice(0, 40))}, not ${onChainSymbol ?? symbol}`;
      },
    },
  ];
}

/** Bridged tokens add to a symbol (USDC.e), test deployments put something before it (testWETH). */
function isAlike(said: string, symbol: string): boolean {
  const [one, other] = [said.toLowerCase(), symbol.toLowerCase()];
  return one !== '' && (one.includes(other) || other.includes(one));
}

/** Tokens from before the standard return 32 bytes in place of a string. */
function readSymbol({ reverted, data }: CallResult): string | null {
  if (reverted || !isHex(data)) return null;
  try {
    if (data.length === 66) return hexToString(data, { size: 32 });
    return decodeFunctionResult({ abi: erc20Abi, functionName: 'symbol', data });
  } catch {
    return null;
  }
}

/** A vault writes calls of its base token and puts of its quote token. */
function vaultProbe({ name, address: to }: VaultProfile, { tokens }: Profile): Probe {
  const pair = pairOfVault(
    name,
    tokens.map((token) => token.symbol),
  );
  const symbol = pair && (pair.type === 'C' ? pair.base : pair.quote);
  const asset = tokens.find((token) => token.symbol === symbol);
  return {
    name: `vault ${name}`,
    to,
    data: encodeFunctionData({ abi: vaultAbi, functionName: 'asset' }),
    judge(answer) {
      if (isEmpty(answer)) return NO_CODE;
      const said = readUint(answer);
      if (said === null) return 'does not answer as a vault';
      if (asset === undefined) return 'has a name of no two tokens of the profile';
      return said === BigInt(asset.address) ? null : `holds another token than ${asset.symbol}`;
    },
  };
}
