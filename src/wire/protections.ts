import Type, { type Static } from 'typebox';
import { SignatureJson } from './orderbook.js';
import { Address, ChainId, closed, SafeUint, Uint256, UnixSeconds } from './primitives.js';

/** Of the provider; without these the key must have proven the address or be authorised. */
export const consent = {
  nonce: Type.Optional(Uint256),
  deadline: Type.Optional(UnixSeconds),
  signature: Type.Optional(SignatureJson),
};

const Seconds = Type.Integer({ minimum: 0, maximum: 2 ** 31 });

/** Of POST /authorizations. */
export const AuthorizationBody = closed(
  { chainId: ChainId, provider: Address, ...consent },
  { description: 'EIP-712: domain `Quotebook`, type `AuthorizeKey`. A nonce counts once.' },
);
export type AuthorizationBody = Static<typeof AuthorizationBody>;

/** Of DELETE /authorizations. */
export const RevocationBody = closed(
  {
    chainId: ChainId,
    provider: Address,
    keyId: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{16}$',
        description: 'Id of the key whose authorisation ends. Absent: the calling key.',
      }),
    ),
    ...consent,
  },
  { description: 'EIP-712: domain `Quotebook`, type `RevokeKey`. A nonce counts once.' },
);
export type RevocationBody = Static<typeof RevocationBody>;

const AuthorizationJson = closed({
  provider: Address,
  until: UnixSeconds,
  heartbeatSeconds: Type.Integer({ description: 'Of the timer that POST /heartbeat sets. 0: there is none.' }),
  disconnectSeconds: Type.Integer({ description: 'Of CANCEL_ON_DISCONNECT. 0: it is off.' }),
});

/** Answer of GET, POST and DELETE /authorizations: of the calling key. */
export const AuthorizationsResult = closed({
  keyId: Type.String({ description: 'Id of the calling key, which providers sign.' }),
  authorizations: Type.Array(AuthorizationJson),
});
export type AuthorizationsResult = Static<typeof AuthorizationsResult>;

/** Of POST /heartbeat and of PROVIDER_HEARTBEAT. */
export const HeartbeatBody = closed(
  { chainId: ChainId, provider: Address, timeoutSeconds: Seconds },
  { description: 'All quotes of the provider are withdrawn unless another comes in that time. 0 stops the timer.' },
);

/** Of CANCEL_ON_DISCONNECT. */
export const DisconnectBody = closed(
  { chainId: ChainId, provider: Address, graceSeconds: Seconds },
  {
    description:
      'All quotes of the provider are withdrawn once each connection of the key that sent this has been closed for so long. 0 turns it off.',
  },
);

/** Answer of POST /heartbeat and of its messages on sockets. */
export const TimerResult = closed({ provider: Address, seconds: SafeUint, authorizedUntil: UnixSeconds });
export type TimerResult = Static<typeof TimerResult>;

/** Of POST /fill_limits and of SET_FILL_LIMIT. */
export const FillLimitBody = closed(
  {
    chainId: ChainId,
    provider: Address,
    poolAddress: Address,
    contracts: Uint256,
    fills: SafeUint,
    windowSeconds: Seconds,
    ...consent,
  },
  {
    description:
      'All quotes of the provider in the pool are withdrawn once more than `contracts` or more than `fills` were filled within the window. 0: any; both 0: there is no limit.',
  },
);
export type FillLimitBody = Static<typeof FillLimitBody>;

export const FillLimitsQuery = closed({ chainId: ChainId, provider: Address });

/** Answer of GET and POST /fill_limits. */
export const FillLimitsResult = closed({
  provider: Address,
  fillLimits: Type.Array(
    closed({ poolAddress: Address, contracts: Uint256, fills: SafeUint, windowSeconds: SafeUint }),
  ),
});
export type FillLimitsResult = Static<typeof FillLimitsResult>;
