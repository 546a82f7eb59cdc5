import type { LargeAnswerRunner } from '../../src/http/responses.js';
import { pathParameters } from '../../src/http/parse.js';
import type { Caller, Route } from '../../src/http/router.js';
import type { NetRequest, NetResponse } from '../../src/net/net.js';
import { type PacedWork, UNPACED } from '../../src/system/paced-work.js';

const CALLER: Caller = { id: 'test', tier: 'paid' };

/** A request as the server would hand it over. */
export function requestOf(method: string, target: string, body: unknown = ''): NetRequest {
  const [path = '', query = ''] = target.split('?');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    method,
    path,
    query,
    header: () => undefined,
    remoteAddress: '127.0.0.1',
    body: new TextEncoder().encode(text),
    aborted: false,
  };
}

/** Asks the route of that method and path among `routes`, as a caller with a key. */
export async function ask(
  routes: readonly Route[],
  request: NetRequest,
  caller: Caller = CALLER,
): Promise<NetResponse & { text: string }> {
  const isOf = (path: string): boolean => path === request.path || pathParameters(path, request.path) !== null;
  const route = routes.find(({ method, path }) => method === request.method && isOf(path));
  if (route === undefined) throw new Error(`there is no ${request.method} ${request.path}`);
  const response = await (route.needsKey ? route.handle(request, caller) : route.handle(request, null));
  // A client sees no difference between an answer's own headers and those that it shares with others.
  const headers = { ...response.headers };
  for (const { record } of response.shared ?? []) Object.assign(headers, record);
  return { ...response, headers, text: Buffer.from(response.body).toString() };
}

/** Large answers of any number at once. */
export function answersAtOnce(work: PacedWork = UNPACED): LargeAnswerRunner {
  return { run: async (_, make) => make(work) };
}
