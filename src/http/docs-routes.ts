import { json } from './answer.js';
import type { Route } from './router.js';

export interface ApiDocuments {
  /** JSON texts. */
  readonly openApi: string;
  readonly asyncApi: string;
  /** HTML that shows both, with everything it needs inside. */
  readonly page: string;
}

/** GET /openapi.json, GET /asyncapi.json and GET /docs, without a key. */
export function docsRoutes({ openApi, asyncApi, page }: ApiDocuments): Route[] {
  const html = {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // Nothing runs on the page, and nothing is fetched for it.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
      'x-content-type-options': 'nosniff',
    },
    body: page,
  };
  return [
    { method: 'GET', path: '/openapi.json', needsKey: false, handle: () => json(openApi) },
    { method: 'GET', path: '/asyncapi.json', needsKey: false, handle: () => json(asyncApi) },
    { method: 'GET', path: '/docs', needsKey: false, handle: () => html },
  ];
}
