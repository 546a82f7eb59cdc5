import { createRequire } from 'node:module';
import type { Contestant } from '../contest.js';
import type { SignedWork } from '../workload/signed-quotes.js';

/**
 * Native `ecdsaRecover` of the npm package `secp256k1` alone, on one thread: what no check of a signature can do
 * without.
 */
export function nativeRecover(signed: readonly SignedWork[]): Contestant {
  const require = createRequire(import.meta.url);
  const { ecdsaRecover } = require('secp256k1/bindings.js') as typeof import('secp256k1');
  return {
    name: 'native ecdsaRecover',
    prepare: () => () => {
      for (const { digest, rs, recoveryId } of signed) ecdsaRecover(rs, recoveryId, digest, false);
      return signed.length;
    },
  };
}
