import Type, { type Static } from 'typebox';
import {
  type ChainProfile,
  checksumAddress,
  type ContractProfile,
  deployments,
  type Profile,
} from '../chain/contracts/deployments.js';
import type { Hex } from '../engine/quote.js';
import { Address, closed } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import { isMistyped, isUrl, type Settings } from './setting-table.js';
import { nearest, type ReadText, jsonProblem, whyUnreadable } from './settings.js';

/** Profiles that need no file. */
export const BUILT_IN_PROFILES: readonly string[] = ['local', ...deployments.map(({ name }) => name)];

const MAX_PROBLEMS = 50;
/** As the built-in profiles have it. */
const REREAD_BLOCKS = 64;

const Url = Type.String({ pattern: '^https?://\\S+$' });
const BlockNumber = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const Chain = closed({
  chainId: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  rpcUrls: Type.Array(Url, { minItems: 1, maxItems: 10 }),
  wsUrl: Type.Optional(Type.String({ pattern: '^wss?://\\S+$' })),
  confirmations: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  rereadBlocks: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
  maxHeadAgeSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
});

const Contract = closed({ address: Address, startBlock: Type.Optional(BlockNumber) });

/** Content of a profile file; docs/reference/profile.md explains each field. */
const ProfileFile = closed({
  name: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,31}$' }),
  settlement: Chain,
  stream: Chain,
  contracts: closed({
    orderbookStream: Contract,
    poolFactory: Contract,
    poolDiamond: Contract,
    erc20Router: Contract,
    oracleAdapter: Contract,
    volatilityOracle: Type.Optional(Contract),
    multicall3: Type.Optional(Contract),
  }),
  streamLookbackSeconds: Type.Integer({ minimum: 0, maximum: 10 * 365 * 86_400 }),
  tokens: Type.Array(
    closed({
      symbol: Type.String({ pattern: '^[A-Za-z0-9.]{1,20}$' }),
      address: Address,
      decimals: Type.Integer({ minimum: 0, maximum: 36 }),
      onChainSymbol: Type.Optional(Type.String({ minLength: 1, maxLength: 40 })),
    }),
    { minItems: 1, maxItems: 1000 },
  ),
  vaults: Type.Array(closed({ name: Type.String({ pattern: '^[!-~]{1,60}$' }), address: Address }), { maxItems: 1000 }),
});
type ProfileFile = Static<typeof ProfileFile>;

const check = compile(ProfileFile, MAX_PROBLEMS);

export type ReadProfile =
  | { readonly ok: true; readonly profile: Profile }
  /** Everything that is wrong with the file, one sentence each. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** A deployment that is built in, or what a profile file describes. Rejects with everything that is wrong with it. */
export async function profileNamed(nameOrFile: string, readText: ReadText): Promise<Profile> {
  const known = deployments.find(({ name }) => name === nameOrFile);
  if (known !== undefined) return known;
  const read = await readProfileFile(nameOrFile, readText);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.profile;
}

/** Reads and checks a profile file. */
export async function readProfileFile(path: string, readText: ReadText): Promise<ReadProfile> {
  let content: unknown;
  try {
    content = JSON.parse(await readText(path));
  } catch (error) {
    const problem =
      error instanceof SyntaxError ? `is not JSON (${jsonProblem(error)})` : `cannot be read: ${whyUnreadable(error)}`;
    const builtIn = nearest(path, BUILT_IN_PROFILES);
    const hint = builtIn === null ? '' : ` (or did you mean the built-in profile ${builtIn}?)`;
    return { ok: false, problems: [`The profile ${path} ${problem}${hint}.`] };
  }
  const result = check(content);
  const problems = result.ok
    ? contradictions(result.value)
    : result.errors.map(({ instancePath, message, params }) => {
        const { additionalProperty } = params;
        const extra = typeof additionalProperty === 'string' ? ` (${additionalProperty})` : '';
        return `${instancePath === '' ? '/' : instancePath} ${message}${extra}`;
      });
  if (result.ok && problems.length === 0) return { ok: true, profile: toProfile(result.value) };
  return { ok: false, problems: problems.map((problem) => `The profile ${path}: ${problem}.`) };
}

/** Problems that no single field shows. */
function contradictions(file: ProfileFile): string[] {
  const { tokens, vaults, contracts } = file;
  const addresses: [string, Hex][] = Object.entries(contracts).map(([name, { address }]) => [
    `/contracts/${name}/address`,
    address,
  ]);
  const isOneChain = file.settlement.chainId === file.stream.chainId;
  const isOfSettlement = ([at]: readonly [string, Hex]): boolean =>
    isOneChain || at !== '/contracts/orderbookStream/address';
  tokens.forEach(({ address }, index) => addresses.push([`/tokens/${index}/address`, address]));
  vaults.forEach(({ address }, index) => addresses.push([`/vaults/${index}/address`, address]));
  const urls = (['settlement', 'stream'] as const).flatMap((role): [string, string][] => {
    const { rpcUrls, wsUrl } = file[role];
    const rpc = rpcUrls.map((url, index): [string, string] => [`/${role}/rpcUrls/${index}`, url]);
    return wsUrl === undefined ? rpc : [...rpc, [`/${role}/wsUrl`, wsUrl]];
  });
  return [
    ...urls.filter(([, url]) => !isUrl(url)).map(([at]) => `${at} is no URL`),
    ...addresses.filter(([, address]) => isMistyped(address)).map(([at]) => `${at} is not its own EIP-55 checksum`),
    ...repeated(tokens.map(({ symbol }) => symbol)).map((symbol) => `/tokens lists ${symbol} more than once`),
    ...repeated(vaults.map(({ name }) => name)).map((name) => `/vaults lists ${name} more than once`),
    ...repeated(addresses.filter(isOfSettlement).map(([, address]) => address.toLowerCase())).map((address) => {
      const places = addresses.filter(([, other]) => other.toLowerCase() === address).map(([at]) => at);
      return `${places.join(' and ')} are the same address`;
    }),
  ];
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

function toProfile({ name, settlement, stream, contracts, ...rest }: ProfileFile): Profile {
  return {
    name,
    settlement: toChain(settlement),
    stream: toChain(stream),
    contracts: {
      orderbookStream: toContract(contracts.orderbookStream),
      poolFactory: toContract(contracts.poolFactory),
      poolDiamond: toContract(contracts.poolDiamond),
      erc20Router: toContract(contracts.erc20Router),
      oracleAdapter: toContract(contracts.oracleAdapter),
      volatilityOracle: contracts.volatilityOracle === undefined ? null : toContract(contracts.volatilityOracle),
      multicall3: contracts.multicall3 === undefined ? null : toContract(contracts.multicall3),
    },
    streamLookbackSeconds: rest.streamLookbackSeconds,
    tokens: rest.tokens.map((token) => ({ ...token, address: checksumAddress(token.address) })),
    vaults: rest.vaults.map((vault) => ({ ...vault, address: checksumAddress(vault.address) })),
  };
}

function toChain({ chainId, rpcUrls, ...chain }: ProfileFile['stream']): ChainProfile {
  return {
    chainId,
    rpcUrls,
    wsUrl: chain.wsUrl ?? null,
    confirmations: chain.confirmations ?? 0,
    rereadBlocks: chain.rereadBlocks ?? REREAD_BLOCKS,
    maxHeadAgeSeconds: chain.maxHeadAgeSeconds ?? null,
  };
}

function toContract({ address, startBlock }: { address: Hex; startBlock?: number }): ContractProfile {
  return { address: checksumAddress(address), startBlock: startBlock ?? 0 };
}

type Endpoints = Pick<Settings, 'settlementRpcUrls' | 'streamRpcUrls' | 'settlementWsUrl' | 'streamWsUrl'>;

/** The profile with the endpoints that settings name in place of its own. */
export function withEndpoints(profile: Profile, settings: Endpoints): Profile {
  const { settlement, stream } = profile;
  return {
    ...profile,
    settlement: {
      ...settlement,
      rpcUrls: settings.settlementRpcUrls ?? settlement.rpcUrls,
      wsUrl: settings.settlementWsUrl ?? settlement.wsUrl,
    },
    stream: {
      ...stream,
      rpcUrls: settings.streamRpcUrls ?? stream.rpcUrls,
      wsUrl: settings.streamWsUrl ?? stream.wsUrl,
    },
  };
}
