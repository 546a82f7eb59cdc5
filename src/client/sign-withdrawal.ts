import { type Hex, parseSignature, type TypedDataDefinition } from 'viem';
import type { WithdrawalJson } from '../wire/withdrawals.js';

const FIELDS = [
  { name: 'provider', type: 'address' },
  { name: 'quoteIds', type: 'bytes32[]' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
] as const;
const TYPES = { WithdrawQuotes: FIELDS, RestoreQuotes: FIELDS } as const;

/** A signer of withdrawals, for example a local account of viem. */
export interface WithdrawalSigner {
  readonly address: Hex;
  signTypedData(definition: TypedDataDefinition<typeof TYPES, keyof typeof TYPES>): Promise<Hex>;
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
): Promise<WithdrawalJson> {
  return sign(signer, chainId, 'WithdrawQuotes', terms);
}

/** Signs what `restoreQuotes` sends. */
export function signRestore(
  signer: WithdrawalSigner,
  chainId: string,
  terms: WithdrawalTerms,
): Promise<WithdrawalJson> {
  return sign(signer, chainId, 'RestoreQuotes', terms);
}

async function sign(
  signer: WithdrawalSigner,
  chainId: string,
  primaryType: keyof typeof TYPES,
  { quoteIds, deadline, nonce }: WithdrawalTerms,
): Promise<WithdrawalJson> {
  const provider = signer.address;
  const signature = await signer.signTypedData({
    domain: { name: 'Quotebook', version: '1', chainId: Number(chainId) },
    types: TYPES,
    primaryType,
    message: { provider, quoteIds, nonce, deadline: BigInt(deadline) },
  });
  const { r, s, yParity } = parseSignature(signature);
  const v = yParity + V_OFFSET;
  return { chainId, provider, quoteIds: [...quoteIds], nonce: nonce.toString(), deadline, signature: { r, s, v } };
}

/** The service takes 27 or 28. */
const V_OFFSET = 27;
