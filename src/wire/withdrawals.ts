import Type, { type Static } from 'typebox';
import { SignatureJson } from './orderbook.js';
import { Address, ChainId, closed, Hash, SafeUint, Uint256, UnixSeconds } from './primitives.js';

/** Of DELETE /quotes and POST /quotes/restore. */
export function withdrawalBody(maxQuotes: number) {
  return closed(
    {
      chainId: ChainId,
      provider: Address,
      quoteIds: Type.Array(Hash, { minItems: 1, maxItems: maxQuotes }),
      nonce: Uint256,
      deadline: UnixSeconds,
      signature: SignatureJson,
    },
    { description: 'EIP-712: domain `Quotebook`, type `WithdrawQuotes` or `RestoreQuotes`. A nonce counts once.' },
  );
}
export type WithdrawalJson = Static<ReturnType<typeof withdrawalBody>>;

const Unchanged = Type.Array(Hash, { description: 'Were so before.' });
const Unknown = Type.Array(Hash, { description: 'No quotes of the provider that the book knows.' });

export const WithdrawQuotesResult = closed({
  withdrawn: Type.Array(Hash),
  unchanged: Unchanged,
  unknown: Unknown,
  seq: SafeUint,
  notice: Type.String({ description: 'That the quotes can still be filled on the chain.' }),
});
export type WithdrawQuotesResult = Static<typeof WithdrawQuotesResult>;

export const RestoreQuotesResult = closed({
  restored: Type.Array(Hash),
  unchanged: Unchanged,
  unknown: Unknown,
  seq: SafeUint,
});
export type RestoreQuotesResult = Static<typeof RestoreQuotesResult>;
