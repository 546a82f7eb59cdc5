import { networkOf } from '../net/address.js';
import type { NetRequestHead, NetResponse } from '../net/net.js';
import type { HttpErrorCode } from '../wire/error-codes.js';
import { renderError } from '../wire/problem.js';
import type { SocketLimits } from './ports.js';

/** The parts of an upgrade request that admission looks at. */
export type UpgradeRequest = Pick<NetRequestHead, 'header' | 'remoteAddress'>;

export interface AdmissionOptions {
  /** Origins of the pages that may connect beside the service's own; `*`: all. */
  readonly corsOrigins: readonly string[];
  readonly limits: Pick<SocketLimits, 'wsConnections' | 'wsConnectionsPerAddress'>;
}

/** Decides which clients may connect: everyone but pages of other origins, as long as there is room. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #networks = new ConnectionCounts();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Null, or the answer in place of the upgrade. */
  refusal(request: UpgradeRequest): NetResponse | null {
    const { limits, corsOrigins } = this.#options;
    const { wsConnections, wsConnectionsPerAddress } = limits;
    if (!pageMayConnect(corsOrigins, request.header('origin'), request.header('host'))) {
      return refuse(request, 'origin_forbidden', 'Pages of this origin may not connect');
    }
    if (this.#networks.total >= wsConnections) {
      return refuse(request, 'server_full', 'Too many connections', { 'retry-after': '1' });
    }
    if (this.#networks.of(networkOf(request.remoteAddress)) < wsConnectionsPerAddress) return null;
    const message = `Too many connections: at most ${wsConnectionsPerAddress} from one address`;
    return refuse(request, 'too_many_connections', message);
  }

  /** A connection is open. */
  add(remoteAddress: string): void {
    this.#networks.add(networkOf(remoteAddress));
  }

  /** A connection is closed. */
  remove(remoteAddress: string): void {
    this.#networks.remove(networkOf(remoteAddress));
  }
}

/** Counts open connections per owner. */
export class ConnectionCounts {
  readonly #counts = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string): void {
    this.#total += 1;
    this.#counts.set(name, this.of(name) + 1);
  }

  remove(name: string): void {
    const count = this.of(name) - 1;
    this.#total -= 1;
    if (count <= 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}

function refuse(
  request: Pick<NetRequestHead, 'header'>,
  code: HttpErrorCode,
  message: string,
  headers: NetResponse['headers'] = {},
): NetResponse {
  const { status, contentType, body } = renderError(code, { message }, request.header('accept'));
  return { status, headers: { ...headers, 'content-type': contentType }, body };
}

/**
 * Whether a page of that origin may open a socket. Browsers let any page open one to anywhere and say on whose behalf
 * (RFC 6455 section 10.2); programs say nothing. `allowed` is what HTTP allows too; `*` is every page. The service's
 * own page, whose origin is the host that was asked, always may.
 */
export function pageMayConnect(
  allowed: readonly string[],
  origin: string | undefined,
  host: string | undefined,
): boolean {
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}
