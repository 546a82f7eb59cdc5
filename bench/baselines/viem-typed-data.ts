import { hashTypedData, verifyTypedData, type Hex } from 'viem';
import type { Contestant } from '../contest.js';
import { CHAIN_ID, type SignedWork } from '../workload/signed-quotes.js';

const types = {
  FillQuoteOB: [
    { name: 'provider', type: 'address' },
    { name: 'taker', type: 'address' },
    { name: 'price', type: 'uint256' },
    { name: 'size', type: 'uint256' },
    { name: 'isBuy', type: 'bool' },
    { name: 'deadline', type: 'uint256' },
    { name: 'salt', type: 'uint256' },
  ],
} as const;

function typedData({ quote }: SignedWork) {
  const { provider, taker, price, size, isBuy, deadline, salt, pool } = quote;
  return {
    domain: { name: 'Premia', version: '1', chainId: CHAIN_ID, verifyingContract: pool.poolAddress },
    types,
    primaryType: 'FillQuoteOB',
    message: { provider, taker, price, size, isBuy, deadline: BigInt(deadline), salt: BigInt(salt) },
  } as const;
}

/** viem's EIP-712 digest of a quote. */
export function viemDigest(signed: readonly SignedWork[]): Contestant {
  return {
    name: 'viem hashTypedData',
    prepare: () => () => {
      for (const each of signed) hashTypedData(typedData(each));
      return signed.length;
    },
  };
}

/** viem's whole check of a quote's signature. */
export function viemCheck(signed: readonly SignedWork[]): Contestant {
  return {
    name: 'viem verifyTypedData',
    prepare: () => async () => {
      for (const each of signed) {
        const { r, s, v } = each.quote.signature;
        const signature: Hex = `${r}${s.slice(2)}${v.toString(16)}` as Hex;
        const isGood = await verifyTypedData({ ...typedData(each), address: each.quote.provider, signature });
        if (!isGood) throw new Error('viem takes a good signature for a bad one');
      }
      return signed.length;
    },
  };
}
