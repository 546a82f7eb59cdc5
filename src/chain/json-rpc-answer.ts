import { RpcError, RpcUnreachable } from './rpc-errors.js';

/** Some use the code of a rate limit for a query that matches too many logs, which the asker has to halve. */
export function isTooMuch(method: string, { message }: RpcError): boolean {
  return method === 'eth_getLogs' && /results|range|response (size|is too big)|too large|query timeout/i.test(message);
}

/** Some say so with an HTTP status of a failure: QuickNode with 413, gateways with 500. Null: it says anything else. */
export function tooMuchIn(text: string, method: string): RpcError | null {
  const refusal = refusalIn(parsed(text));
  return refusal !== null && isTooMuch(method, refusal) ? refusal : null;
}

/** The result that answers the request of that id. Throws RpcError where it is refused, RpcUnreachable on anything else. */
export function readAnswer(text: string, id: number, method: string): unknown {
  const answer = parsed(text);
  if (typeof answer !== 'object' || answer === null)
    throw new RpcUnreachable(`The answer to ${method} is no JSON object`);
  const { id: idOfAnswer = null } = answer as { id?: unknown };
  const refusal = refusalIn(answer);
  // Null where the request could not be read; with another id it is another request that is refused.
  if (refusal !== null && (idOfAnswer === null || idOfAnswer === id)) throw refusal;
  if (!('result' in answer) || idOfAnswer !== id) throw new RpcUnreachable(`The answer to ${method} is not JSON-RPC`);
  return answer.result;
}

/** Undefined where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusalIn(answer: unknown): RpcError | null {
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return null;
  if (answer.error === null || typeof answer.error !== 'object') return null;
  const { code, message, data } = answer.error as { code?: unknown; message?: unknown; data?: unknown };
  return new RpcError(Number(code), beginning(message) ?? 'Unknown error', beginning(data));
}

/** Both are logged: a node may echo what it was asked, or say megabytes. All errors of our contracts are shorter. */
const MOST_CHARS = 2_000;

function beginning(text: unknown): string | null {
  return typeof text === 'string' ? text.slice(0, MOST_CHARS) : null;
}
