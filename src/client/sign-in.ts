import { getAddress, type Hex } from 'viem';
import type { VerifyResult } from '../wire/auth.js';

/** A signer of messages (EIP-191), for example a local account of viem. */
export interface MessageSigner {
  readonly address: Hex;
  signMessage(parameters: { readonly message: string }): Promise<Hex>;
}

/** The owner of an address: an account, or the address with a function that signs for it, such as a wallet's. */
export type SignInSigner =
  | { readonly account: MessageSigner }
  | { readonly address: Hex; readonly signMessage: (message: string) => Promise<Hex> };

export type SignInTerms = SignInSigner & {
  /** Host of the service that the signer means, with its port unless it is the scheme's. Default: of the client's URL. */
  readonly domain?: string;
  /** `session`, the default: this client has proven the address until the session ends. `key`: the API key has. */
  readonly keep?: 'session' | 'key';
};

/** The calls that sign a client in. */
export interface SignInCalls {
  nonce(): Promise<{ readonly nonce: string }>;
  verify(body: {
    readonly message: string;
    readonly signature: Hex;
    readonly keep: 'session' | 'key';
  }): Promise<VerifyResult>;
}

export interface SignInPlace {
  readonly url: string;
  /** The settlement chain's, as the client was given it. */
  readonly chainId: string;
  readonly issuedAtMs: number;
}

export async function signIn(calls: SignInCalls, terms: SignInTerms, at: SignInPlace): Promise<VerifyResult> {
  const { keep = 'session' } = terms;
  return calls.verify({ ...(await signedMessage(() => calls.nonce(), terms, at)), keep });
}

/** Asks for a nonce, and signs a message with it. */
export async function signedMessage(
  askNonce: SignInCalls['nonce'],
  terms: SignInSigner & Pick<SignInTerms, 'domain'>,
  { url, chainId, issuedAtMs }: SignInPlace,
): Promise<{ readonly message: string; readonly signature: Hex }> {
  const service = new URL(url);
  const { domain = service.host } = terms;
  const address = getAddress('account' in terms ? terms.account.address : terms.address);
  const uri = domain === service.host ? service.origin : `https://${domain}`;
  const { nonce } = await askNonce();
  // The server chooses the nonce: it must not bring other lines into what is signed.
  if (!/^[0-9A-Za-z]{8,200}$/.test(nonce)) throw new TypeError('The server sent no nonce of EIP-4361');
  const message = [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date(issuedAtMs).toISOString()}`,
  ].join('\n');
  const signature = await ('account' in terms ? terms.account.signMessage({ message }) : terms.signMessage(message));
  return { message, signature };
}

/** The key that a client sends: the API key, or the token of a session in its place. */
export class Credentials {
  readonly #apiKey: string;
  #session: ClientSession | null = null;

  constructor(apiKey: string) {
    this.#apiKey = apiKey;
  }

  get current(): string {
    return this.#session?.token ?? this.#apiKey;
  }

  get session(): ClientSession | null {
    return this.#session;
  }

  start(session: ClientSession): void {
    this.#session = session;
  }

  /** The server refused these. True: they were of a session, and the next request sends something else. */
  drop(refused: string): boolean {
    if (refused === this.#session?.token) this.#session = null;
    return refused !== this.current;
  }
}

/** A session that a client has signed in to. */
export interface ClientSession {
  readonly address: Hex;
  readonly token: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}
