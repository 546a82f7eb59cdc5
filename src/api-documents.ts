import { asyncApi, type ChannelDoc } from './api-docs/asyncapi.js';
import { openApi, type RouteDoc } from './api-docs/openapi.js';
import { docsPage } from './api-docs/page.js';
import { optionDocs, orderbookDocs, statusDocs } from './api-docs/routes.js';
import { socketDocs } from './api-docs/sockets.js';
import type { Limits } from './config/limits.js';
import type { ApiDocuments } from './http/static-routes.js';
import { onChain } from './wire/primitives.js';
import { SUBPROTOCOLS } from './ws/session.js';

/** Of the interface, not of the program: it changes when clients have to. */
const API_VERSION = '1.0.0';

/** What the schemas of one deployment's interface depend on. */
export interface DocumentedDeployment {
  /** The settlement chain's, as it goes on the wire. */
  readonly chainId: string;
  /** Those with a token on that chain. */
  readonly symbols: readonly string[];
}

/** Every route that is served, documented: a test compares it with the router's table. */
export function documentedRoutes(limits: Limits, symbols: readonly string[]): RouteDoc[] {
  return [...orderbookDocs(limits), ...optionDocs(symbols, limits), ...statusDocs()];
}

/** Every protocol that is spoken over sockets, by name. */
function documentedChannels(limits: Limits): Readonly<Record<string, ChannelDoc>> {
  return socketDocs(limits, Object.keys(SUBPROTOCOLS));
}

/** What is served at /openapi.json, /asyncapi.json and /docs, made once. */
export function apiDocuments(limits: Limits, { chainId, symbols }: DocumentedDeployment): ApiDocuments {
  const routes = documentedRoutes(limits, symbols);
  const channels = documentedChannels(limits);
  const info = { version: API_VERSION };
  return {
    openApi: JSON.stringify(onChain(openApi(routes, info), chainId)),
    asyncApi: JSON.stringify(onChain(asyncApi(channels, info), chainId)),
    page: docsPage(onChain(routes, chainId), onChain(channels, chainId), info),
  };
}
