import Type, { type Static } from 'typebox';
import { Address, closed, SafeUint } from './primitives.js';

/** Body of POST /auth/nonce, /auth/signout and /auth/keys/nonce, which may be empty as well. */
export const NonceBody = closed({});

/** Answer of POST /auth/nonce and /auth/keys/nonce. */
export const NonceResult = closed({
  nonce: Type.String({ description: 'For one sign-in message of this key, or of this network.' }),
  expiresAt: SafeUint,
  chainId: SafeUint,
});
export type NonceResult = Static<typeof NonceResult>;

const signed = {
  message: Type.String({ maxLength: 4_096, description: 'The text that was signed (EIP-4361).' }),
  signature: Type.Unsafe<`0x${string}`>(Type.String({ pattern: '^0x([0-9a-fA-F]{2}){1,1024}$' })),
};

/** Body of POST /auth/verify. */
export const VerifyBody = closed({
  ...signed,
  keep: Type.Optional(
    Type.Enum(['session', 'key'], {
      type: 'string',
      description: '`session`: a token has proven the address, until it expires. `key`: the API key has, from now on.',
    }),
  ),
});
export type VerifyBody = Static<typeof VerifyBody>;

/** Answer of POST /auth/verify. `token` stands for the key and the address wherever an API key does. */
export const VerifyResult = closed({
  address: Address,
  token: Type.Union([Type.String(), Type.Null()]),
  expiresAt: Type.Union([SafeUint, Type.Null()]),
});
export type VerifyResult = Static<typeof VerifyResult>;

/** Body of POST /auth/keys. */
export const CreateKeyBody = closed(signed);
export type CreateKeyBody = Static<typeof CreateKeyBody>;

/** Answer of POST /auth/keys. */
export const CreateKeyResult = closed({
  id: Type.String({ description: 'Of the key: it names the key to others.' }),
  key: Type.String({ description: 'Is shown this once.' }),
  tier: Type.Literal('self'),
  address: Address,
  replaced: Type.Boolean({ description: 'True: the address had a key, which is refused from now on.' }),
  unusedDays: SafeUint,
});
export type CreateKeyResult = Static<typeof CreateKeyResult>;

/** Answer of POST /auth/signout. */
export const SignOutResult = closed({
  signedOut: Type.Boolean({ description: 'False: it was sent with an API key, which has no session.' }),
});
export type SignOutResult = Static<typeof SignOutResult>;
