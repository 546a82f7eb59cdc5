import type { CreateKeyResult } from '../wire/auth.js';
import { type ClientPorts, systemClock, systemFetch } from './ports.js';
import { Rest } from './rest.js';
import { Credentials, signedMessage, type SignInSigner } from './sign-in.js';

export type ApiKeyTerms = SignInSigner & {
  readonly url: string;
  /** As that of `signIn`. */
  readonly domain?: string;
  /** The settlement chain's. */
  readonly chainId: string;
};

/**
 * Creates an API key of the self tier with a signature of an address (EIP-4361): the one key of that address, which
 * replaces an earlier one. Rejects with ApiError, such as 403 where the service hands out no keys.
 */
export async function requestApiKey(
  terms: ApiKeyTerms,
  ports: Partial<Pick<ClientPorts, 'fetch' | 'clock'>> = {},
): Promise<CreateKeyResult> {
  const { chainId } = terms;
  const { clock = systemClock, fetch = systemFetch } = ports;
  const url = terms.url.replace(/\/+$/, '');
  const rest = new Rest({ url, credentials: new Credentials(''), chainId, fetch });
  const at = { url, chainId, issuedAtMs: clock.wallMs() };
  return rest.createKey(await signedMessage(() => rest.createKeyNonce(), terms, at));
}
