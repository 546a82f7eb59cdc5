import type { Privacy } from '../auth/taker-access.js';
import type { NetRequestHead, NetResponse } from '../net/net.js';
import { answerConditional } from './response-cache.js';
import { json } from './responses.js';
import type { Route } from './router.js';

/** One file of the page, in memory: what is served is what was read at the start, by its name in a table. */
export interface PageFile {
  /** From the root, such as `/app.js`. */
  readonly path: string;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Digest of the body, in characters that an entity tag may have. */
  readonly digest: string;
}

export interface PageOptions {
  readonly files: readonly PageFile[];
  readonly chainId: string;
  /** Whether the page has to prove a taker's address to see what is private to it. */
  readonly privacy: Privacy;
  /** The key of the local setup; null: the user of the page types one in. */
  readonly localKey: string | null;
  /** The contract that takes collateral from makers and takers. */
  readonly router: string;
  /** JSON-RPC of the local setup's chain, whose node signs for its funded accounts; null without one. */
  readonly localRpcUrl: string | null;
}

/**
 * Scripts, styles and connections of this origin alone, and nobody may frame the page. A page's own WebSocket counts as
 * `'self'` (CSP 3, 6.7.2.8).
 */
const CONTENT_SECURITY_POLICY = (connections: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src ${connections}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // Kept by the browser, and asked about each time: a new version is there with the next start.
  'cache-control': 'no-cache',
};

/** GET / with its files, and GET /page.json with what the page has to know of this server. None of them needs a key. */
export function pageRoutes({ files, chainId, privacy, localKey, router, localRpcUrl }: PageOptions): Route[] {
  if (files.length === 0) return [];
  const settings: Route = {
    method: 'GET',
    path: '/page.json',
    needsKey: false,
    handle(request) {
      const isOwn = isOwnBrowser(request);
      const [apiKey, rpcUrl] = isOwn ? [localKey, localRpcUrl] : [null, null];
      const answer = json(JSON.stringify({ chainId, privacy, apiKey, router, rpcUrl }));
      return { ...answer, headers: { ...answer.headers, 'cache-control': 'no-store' } };
    },
  };
  const policy = CONTENT_SECURITY_POLICY(localRpcUrl === null ? "'self'" : `'self' ${localRpcUrl}`);
  return [...files.map((file) => fileRoute(file, policy)), settings];
}

function fileRoute({ path, contentType, body, digest }: PageFile, policy: string): Route {
  const etag = `"${digest}"`;
  const headers = { ...HEADERS, 'content-security-policy': policy, 'content-type': contentType, etag };
  const answer: NetResponse = { status: 200, headers, body };
  return {
    method: 'GET',
    path: path === '/index.html' ? '/' : path,
    needsKey: false,
    handle: (request) => answerConditional(request, { etag, answer }),
  };
}

const LOOPBACK_PEERS = new Set(['127.0.0.1', '::1']);
/** Host names of this server in a local browser: any other name may be a DNS rebinding attack. */
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/**
 * Only a page of this server, in a browser on this machine, is given the key: not a proxy's clients, and not another
 * site that this browser has open.
 */
function isOwnBrowser(request: NetRequestHead): boolean {
  const host = request.header('host') ?? '';
  const origin = request.header('origin');
  return (
    LOOPBACK_PEERS.has(request.remoteAddress) &&
    LOOPBACK_HOST.test(host) &&
    request.header('x-forwarded-for') === undefined &&
    // Browsers leave it out when a page asks its own server.
    (origin === undefined || origin === `http://${host}`)
  );
}

export interface ApiDocuments {
  /** JSON texts. */
  readonly openApi: string;
  readonly asyncApi: string;
  /** HTML that shows both, to which a script of the page gives another form. */
  readonly page: string;
  /** HTML for the sockets alone. */
  readonly socketsPage: string;
  /** Text for programs that read text. */
  readonly llms: string;
}

/** The renderer sets its styles from its script, and has icons as data. */
const DOCS_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The documents of the API, for programs and for people, without a key. Their bodies are bytes: of a text, each answer
 * that waits for its reader would hold a copy.
 */
export function docsRoutes({ openApi, asyncApi, page, socketsPage, llms }: ApiDocuments): Route[] {
  const headers = { 'content-security-policy': DOCS_POLICY, 'x-content-type-options': 'nosniff' };
  const html = (body: string): NetResponse => {
    return { status: 200, headers: { ...headers, 'content-type': 'text/html; charset=utf-8' }, body: bytes(body) };
  };
  const text = { status: 200, headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' }, body: bytes(llms) };
  const [all, sockets] = [html(page), html(socketsPage)];
  const [openApiJson, asyncApiJson] = [json(bytes(openApi)), json(bytes(asyncApi))];
  return [
    { method: 'GET', path: '/openapi.json', needsKey: false, handle: () => openApiJson },
    { method: 'GET', path: '/asyncapi.json', needsKey: false, handle: () => asyncApiJson },
    { method: 'GET', path: '/docs', needsKey: false, handle: () => all },
    { method: 'GET', path: '/docs/sockets', needsKey: false, handle: () => sockets },
    { method: 'GET', path: '/llms.txt', needsKey: false, handle: () => text },
  ];
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}
