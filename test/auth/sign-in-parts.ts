import type { KeyStore } from '../../src/auth/key-store.js';
import type { ProofStore } from '../../src/auth/proof-store.js';
import type { SignInOptions } from '../../src/auth/sign-in.js';
import type { Clock } from '../../src/engine/ports.js';
import { systemRandom } from '../../src/system/clock.js';

/** Of a service at book.example on chain 42161, where no account is a contract. */
export function signInParts(
  keys: KeyStore,
  proofs: ProofStore,
  clock: Clock,
  limits: SignInOptions['limits'],
): SignInOptions {
  return {
    chainId: 42161,
    domains: ['book.example'],
    nonces: keys.sealed('nonce'),
    proofs,
    newKey: () => keys.newKey(),
    startSession: (...session) => keys.startSession(...session),
    sessionOf: (token) => keys.sessionOf(token),
    isContractSignature: async () => false,
    clock,
    random: systemRandom,
    limits,
  };
}
