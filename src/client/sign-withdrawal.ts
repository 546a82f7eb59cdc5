import type { Hex, TypedDataDefinition } from 'viem';
import type { AuthorizationBody, FillLimitBody, RevocationBody } from '../wire/protections.js';
import type { WithdrawalJson } from '../wire/withdrawals.js';
import { splitSignature } from './sign-quote.js';

const FIELDS = [
  { name: 'provider', type: 'address' },
  { name: 'quoteIds', type: 'bytes32[]' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
] as const;
const KEY_FIELDS = [
  { name: 'provider', type: 'address' },
  { name: 'keyId', type: 'string' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
] as const;
/** EIP-712 types of what a provider signs. */
export const WITHDRAWAL_TYPES = {
  WithdrawQuotes: FIELDS,
  RestoreQuotes: FIELDS,
  AuthorizeKey: KEY_FIELDS,
  RevokeKey: KEY_FIELDS,
  SetFillLimit: [
    { name: 'provider', type: 'address' },
    { name: 'poolAddress', type: 'address' },
    { name: 'contracts', type: 'uint256' },
    { name: 'fills', type: 'uint256' },
    { name: 'windowSeconds', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;

/** A signer of withdrawals and of what protects quotes, for example a local account of viem. */
export interface WithdrawalSigner {
  readonly address: Hex;
  signTypedData(definition: TypedDataDefinition<typeof WITHDRAWAL_TYPES, keyof typeof WITHDRAWAL_TYPES>): Promise<Hex>;
}

export interface WithdrawalTerms {
  /** 1 to 500. */
  readonly quoteIds: readonly Hex[];
  /** Unix seconds, at most an hour ahead. */
  readonly deadline: number;
  /** One that the signer has not used in the last hour. */
  readonly nonce: bigint;
}

/** Signs what `withdrawQuotes` sends. `chainId`: the settlement chain's. */
export function signWithdrawal(
  signer: WithdrawalSigner,
  chainId: string,
  terms: WithdrawalTerms,
): Promise<Required<WithdrawalJson>> {
  return sign(signer, chainId, 'WithdrawQuotes', terms);
}

/** Signs what `restoreQuotes` sends. */
export function signRestore(
  signer: WithdrawalSigner,
  chainId: string,
  terms: WithdrawalTerms,
): Promise<Required<WithdrawalJson>> {
  return sign(signer, chainId, 'RestoreQuotes', terms);
}

export interface KeyTerms {
  /** Id of the API key, as `rest.authorizations` gives it. */
  readonly keyId: string;
  /** Unix seconds: of an authorisation when it ends, at most 90 days ahead; of a revocation at most an hour. */
  readonly deadline: number;
  /** One that the signer has not used in that time. */
  readonly nonce: bigint;
}

/** Signs what `authorizeKey` sends. */
export function signKeyAuthorization(
  signer: WithdrawalSigner,
  chainId: string,
  terms: KeyTerms,
): Promise<AuthorizationBody> {
  return signKey(signer, chainId, 'AuthorizeKey', terms);
}

/** Signs what `revokeKey` sends. The client that sends it may have another key than the one revoked. */
export async function signKeyRevocation(
  signer: WithdrawalSigner,
  chainId: string,
  terms: KeyTerms,
): Promise<RevocationBody> {
  return { keyId: terms.keyId, ...(await signKey(signer, chainId, 'RevokeKey', terms)) };
}

/** Amounts and numbers of 0 set no bound; both 0: there is no limit any more. */
export interface FillLimitTerms {
  readonly poolAddress: Hex;
  /** 1e-18 contracts: the most that may be filled within the window. */
  readonly contracts: bigint;
  /** The most fills within the window. */
  readonly fills: number;
  /** 1 to 3,600; without a limit of no meaning. */
  readonly windowSeconds: number;
  /** Of the signature: Unix seconds, at most an hour ahead. */
  readonly deadline: number;
  /** One that the signer has not used in the last hour. */
  readonly nonce: bigint;
}

/** Signs what `setFillLimit` sends. */
export async function signFillLimit(
  signer: WithdrawalSigner,
  chainId: string,
  { poolAddress, contracts, fills, windowSeconds: wanted, ...signed }: FillLimitTerms,
): Promise<FillLimitBody> {
  // The end of a limit has no window, and the service reads the signature so.
  const windowSeconds = contracts === 0n && fills === 0 ? 0 : wanted;
  const message = { poolAddress, contracts, fills: BigInt(fills), windowSeconds: BigInt(windowSeconds) };
  const limit = { poolAddress, contracts: contracts.toString(), fills, windowSeconds };
  return { ...limit, ...(await signMessage(signer, chainId, 'SetFillLimit', message, signed)) };
}

async function sign(
  signer: WithdrawalSigner,
  chainId: string,
  primaryType: 'WithdrawQuotes' | 'RestoreQuotes',
  { quoteIds, ...signed }: WithdrawalTerms,
): Promise<Required<WithdrawalJson>> {
  return { quoteIds: [...quoteIds], ...(await signMessage(signer, chainId, primaryType, { quoteIds }, signed)) };
}

function signKey(
  signer: WithdrawalSigner,
  chainId: string,
  primaryType: 'AuthorizeKey' | 'RevokeKey',
  { keyId, ...signed }: KeyTerms,
): Promise<AuthorizationBody> {
  return signMessage(signer, chainId, primaryType, { keyId }, signed);
}

/** Adds to `fields` what every message has, and signs it. */
async function signMessage(
  signer: WithdrawalSigner,
  chainId: string,
  primaryType: keyof typeof WITHDRAWAL_TYPES,
  fields: Readonly<Record<string, unknown>>,
  { deadline, nonce }: Pick<WithdrawalTerms, 'deadline' | 'nonce'>,
) {
  const provider = signer.address;
  const signature = await signer.signTypedData({
    domain: { name: 'Quotebook', version: '1', chainId: Number(chainId) },
    types: WITHDRAWAL_TYPES,
    primaryType,
    message: { provider, ...fields, nonce, deadline: BigInt(deadline) },
  } as TypedDataDefinition<typeof WITHDRAWAL_TYPES, keyof typeof WITHDRAWAL_TYPES>);
  return { chainId, provider, nonce: nonce.toString(), deadline, signature: splitSignature(signature) };
}
