import type { ApiError, RefusedError } from '../client/errors.js';

/** A refusal of the service in the terms of the command line, with its remedy. */
export function refusalText(
  error: ApiError | RefusedError,
  { url, chainId }: { readonly url: string; readonly chainId: string },
): string {
  const { code, message, retryAfterMs } = error;
  if (code === 'api_key_missing' || code === 'api_key_unknown')
    return `${url} does not know this API key: name another with --api-key or QUOTEBOOK_API_KEY`;
  if (code === 'unsupported_chain' || /\bchainId must /.test(message))
    return `${url} serves no chain ${chainId}: name its settlement chain, 42161 or 421613, with --chain-id`;
  if (code === 'sign_in_rejected') return `${message}: name one of these with --sign-in-domain`;
  const says =
    code === 'rate_limited' && message === 'RATELIMITED' ? 'A quota of the key or of the address is used up' : message;
  if (retryAfterMs === null) return code === 'rate_limited' ? `${says}: try again later` : says;
  return `${says}: try again in ${Math.ceil(retryAfterMs / 1000)} s`;
}
