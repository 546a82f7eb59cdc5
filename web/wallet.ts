import type { Hex, QuoteSigner, WithdrawalSigner } from 'quotebook/client';
import { stringToHex } from 'viem';

/** A wallet as browsers have it (EIP-1193). */
export interface Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

/** A wallet that can be chosen. */
export interface WalletOffer {
  readonly name: string;
  readonly provider: Provider;
  /** The account to use; null: the wallet asks its user. */
  readonly address: Hex | null;
}

/** A transaction for the wallet: a contract and its calldata. */
export interface Call {
  readonly to: string;
  readonly data: string;
}

const RECEIPT_EVERY_MS = 500;
/** How long a transaction may take to be mined. */
const RECEIPT_TIMEOUT_MS = 120_000;

/** One account of one wallet, on the settlement chain. */
export class Wallet implements QuoteSigner, WithdrawalSigner {
  readonly address: Hex;
  readonly #provider: Provider;
  readonly #chainId: string;

  private constructor(provider: Provider, address: Hex, chainId: string) {
    this.#provider = provider;
    this.address = address;
    this.#chainId = chainId;
  }

  /** Rejects when the user refuses, or when the wallet is on another chain and does not change to this one. */
  static async connect({ provider, address }: WalletOffer, chainId: string): Promise<Wallet> {
    const accounts =
      address === null ? ((await provider.request({ method: 'eth_requestAccounts' })) as readonly Hex[]) : [address];
    const [account] = accounts;
    if (account === undefined) throw new Error('The wallet has no account');
    await switchTo(provider, chainId);
    return new Wallet(provider, account, chainId);
  }

  /** Return data of a view call at the newest block. Rejects when the wallet has left the chain. */
  async read({ to, data }: Call): Promise<Hex> {
    // Elsewhere the same address is another contract or none, whose answer says nothing of this chain.
    await requireChain(this.#provider, this.#chainId);
    return (await this.#provider.request({ method: 'eth_call', params: [{ to, data }, 'latest'] })) as Hex;
  }

  /**
   * Resolves once it is mined; rejects when it reverts or is not mined in time, and when the wallet has left the chain.
   * `onSent`: the wallet has sent it, under this hash.
   */
  async send({ to, data }: Call, onSent: (hash: Hex) => void): Promise<Hex> {
    // Its user may have chosen another chain since it was connected, where the same address is another contract or none.
    await switchTo(this.#provider, this.#chainId);
    const transaction = { from: this.address, to, data };
    const hash = (await this.#provider.request({ method: 'eth_sendTransaction', params: [transaction] })) as Hex;
    onSent(hash);
    const deadline = performance.now() + RECEIPT_TIMEOUT_MS;
    while (performance.now() < deadline) {
      const receipt = await this.#receiptOf(hash);
      if (receipt?.status === '0x1') return hash;
      if (receipt !== null) throw new Error(`Transaction ${hash} reverted: it changed nothing`);
      await new Promise((resolve) => setTimeout(resolve, RECEIPT_EVERY_MS));
    }
    throw new Error(
      `Transaction ${hash} is not mined after two minutes, and still may be. Look at it in the wallet before you try again.`,
    );
  }

  /** Null: it is not mined, or the wallet does not say, which changes nothing of what was sent. */
  async #receiptOf(hash: Hex): Promise<{ readonly status: string } | null> {
    try {
      const receipt = await this.#provider.request({ method: 'eth_getTransactionReceipt', params: [hash] });
      return receipt as { readonly status: string } | null;
    } catch (error) {
      console.warn(`reading the receipt of ${hash} failed`, error);
      return null;
    }
  }

  /** As EIP-191 has it. */
  async signMessage(message: string): Promise<Hex> {
    const params = [stringToHex(message), this.address];
    return (await this.#provider.request({ method: 'personal_sign', params })) as Hex;
  }

  async signTypedData(
    definition: Parameters<QuoteSigner['signTypedData']>[0] | Parameters<WithdrawalSigner['signTypedData']>[0],
  ): Promise<Hex> {
    const EIP712Domain = DOMAIN_FIELDS.filter(({ name }) => name in (definition.domain ?? {}));
    const text = JSON.stringify({ ...definition, types: { EIP712Domain, ...definition.types } }, asText);
    return (await this.#provider.request({ method: 'eth_signTypedData_v4', params: [this.address, text] })) as Hex;
  }
}

/** Asks a wallet that is on another chain to change. Rejects when it stays there. */
async function switchTo(provider: Provider, chainId: string): Promise<void> {
  if (await isOn(provider, chainId)) return;
  try {
    await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: hexOf(chainId) }] });
  } catch (error) {
    if ((error as { readonly code?: unknown } | null)?.code !== UNKNOWN_CHAIN) throw error;
    throw new Error(`The wallet does not know chain ${chainId}: add it there, then try again`, { cause: error });
  }
  await requireChain(provider, chainId);
}

async function requireChain(provider: Provider, chainId: string): Promise<void> {
  if (!(await isOn(provider, chainId))) {
    throw new Error(`The wallet is on another chain: switch it to chain ${chainId}`);
  }
}

async function isOn(provider: Provider, chainId: string): Promise<boolean> {
  return (await provider.request({ method: 'eth_chainId' })) === hexOf(chainId);
}

/** As wallets write a chain id. */
function hexOf(chainId: string): Hex {
  return `0x${BigInt(chainId).toString(16)}`;
}

/** EIP-3326: the chain was not added to the wallet. */
const UNKNOWN_CHAIN = 4902;

/** Of an EIP-712 domain, in their order; that of withdrawals has no contract. */
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

function asText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

interface Announcement {
  readonly info: { readonly uuid: string; readonly name: string };
  readonly provider: Provider;
}

/** The browser's wallets (EIP-6963, EIP-1193) and, on a local chain, its funded accounts. */
export class WalletOffers {
  readonly #announced = new Map<string, WalletOffer>();
  readonly #demo: readonly WalletOffer[];

  constructor(demo: readonly WalletOffer[]) {
    this.#demo = demo;
    addEventListener('eip6963:announceProvider', (event) => {
      const { info, provider } = (event as CustomEvent<Announcement>).detail;
      this.#announced.set(info.uuid, { name: info.name, provider, address: null });
    });
    dispatchEvent(new Event('eip6963:requestProvider'));
  }

  all(): readonly WalletOffer[] {
    const { ethereum } = globalThis as { readonly ethereum?: Provider };
    const injected = { name: 'Browser wallet', provider: ethereum, address: null };
    const ofBrowser = [...this.#announced.values()];
    if (ofBrowser.length === 0 && injected.provider !== undefined) {
      ofBrowser.push({ ...injected, provider: injected.provider });
    }
    return [...ofBrowser, ...this.#demo];
  }
}

/** The node of a local chain signs for its funded accounts: no key comes to the page. */
export async function demoWallets(rpcUrl: string): Promise<WalletOffer[]> {
  let id = 0;
  const provider: Provider = {
    async request({ method, params = [] }) {
      id += 1;
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(rpcUrl, { method: 'POST', headers, body });
      const { result, error } = (await response.json()) as Reply;
      if (error !== undefined) throw new Error(error.message);
      return result;
    },
  };
  const accounts = (await provider.request({ method: 'eth_accounts' })) as readonly Hex[];
  return accounts.map((address, i) => ({ name: `Demo account ${i}`, provider, address }));
}

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Text of an error for the user; wallets reject with objects of their own. */
export function problemText(error: unknown): string {
  const { shortMessage, message } = Object(error) as { readonly shortMessage?: unknown; readonly message?: unknown };
  const text = typeof shortMessage === 'string' ? shortMessage : message;
  return typeof text === 'string' && text !== '' ? text : 'It did not work';
}

/** Text for the user while a transaction waits for its block. */
export function pendingText(hash: Hex): string {
  return `Waiting for a block with transaction ${hash}…`;
}

/** Such as 0x7099…79c8. */
export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

/** Whatever the case of their letters. */
export function isSameAddress(address: string, other: string): boolean {
  return address.toLowerCase() === other.toLowerCase();
}
