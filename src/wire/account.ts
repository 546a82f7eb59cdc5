import Type, { type Static } from 'typebox';
import { Address, ChainId, closed } from './primitives.js';

const walletAddr = Type.Optional(Address);

/** Of the container's account routes: the operator's wallet unless another is named. */
export const AccountQuery = closed({ walletAddr });

/** The cloud's own form of GET /account/option_balances. */
export const WalletQuery = closed({ chainId: ChainId, wallet: Address });

/** Either form: `walletAddr`, or `chainId` and `wallet`. */
export const OptionBalancesQuery = closed({
  walletAddr,
  chainId: Type.Optional(ChainId),
  wallet: Type.Optional(Address),
});

export const CollateralBalances = closed({
  success: Type.Array(
    closed({ token_address: Address, symbol: Type.String(), balance: Type.Number({ description: 'Whole tokens.' }) }),
    { description: "In the order of the chain's tokens." },
  ),
  failed: Type.Array(closed({ token: Type.String({ description: 'Its symbol.' }), reason: Type.String() })),
});

export type CollateralBalances = Static<typeof CollateralBalances>;

export const NativeBalance = Type.Number({ description: "Of the chain's own coin, in whole coins." });

const Position = closed({
  token_address: Address,
  amount: Type.Number({ description: 'Contracts.' }),
  name: Type.String({ description: 'Such as `WETH-USDC-03NOV2023-1800-P`.' }),
  exposure: Type.Unsafe<'SHORT' | 'LONG'>(Type.String({ enum: ['SHORT', 'LONG'] })),
});

export const OptionBalances = closed({
  open: Type.Array(Position),
  expired: Type.Array(Position),
});
export type OptionBalances = Static<typeof OptionBalances>;
