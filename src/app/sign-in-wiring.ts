import type { KeyStore } from '../auth/key-store.js';
import { LocalProofStore, type ProofStore } from '../auth/proof-store.js';
import { SignIn } from '../auth/sign-in.js';
import { acceptsSignature } from '../chain/contracts/contract-signature.js';
import type { Core } from './core.js';
import type { ServiceOptions } from './service-options.js';

export interface SignInParts {
  readonly proofs: ProofStore;
  readonly signIns: SignIn;
}

/** Where addresses are proven, and keys and sessions are given for it. */
export function openSignIn(options: ServiceOptions, core: Pick<Core, 'proofs' | 'settlement'>): SignInParts {
  const { profile, keys, clock, random, limits } = options;
  const proofs = core.proofs === null ? new LocalProofStore(keys, clock, limits) : shownAtOnce(core.proofs, keys);
  const signIns = new SignIn({
    chainId: profile.settlement.chainId,
    domains: options.signInDomains ?? [],
    nonces: keys.sealed('nonce'),
    proofs,
    newKey: () => keys.newKey(),
    startSession: (...session) => keys.startSession(...session),
    sessionOf: (token) => keys.sessionOf(token),
    isContractSignature: (...signed) => acceptsSignature(core.settlement, ...signed),
    clock,
    random,
    limits,
  });
  return { proofs, signIns };
}

/** A proof given here, or the end of a session here, counts from the next request on. */
function shownAtOnce(proofs: ProofStore, keys: KeyStore): ProofStore {
  return {
    spend: (use) => proofs.spend(use),
    async prove(...proof) {
      const result = await proofs.prove(...proof);
      if (result === 'PROVEN') await keys.refresh();
      return result;
    },
    async signOut(session) {
      const result = await proofs.signOut(session);
      if (result === 'SIGNED_OUT') await keys.refresh();
      return result;
    },
    async addSelfKey(added) {
      const result = await proofs.addSelfKey(added);
      await keys.refresh();
      return result;
    },
    noteUses: (uses) => proofs.noteUses(uses),
  };
}
