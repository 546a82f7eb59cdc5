import type { RecordedCall, RecordedError } from '../src/api-docs/examples.js';

export interface ErrorsOf {
  readonly httpUrl: string;
  readonly apiKey: string;
  /** A key without any scope. */
  readonly plainKey: string;
  /** Shortens lists. */
  readonly cut: (answer: unknown) => unknown;
  /** One call of each operation that was answered well. */
  readonly calls: readonly RecordedCall[];
  /** Whether the document has that answer of the operation. */
  readonly isDocumented: (operation: string, status: number) => boolean;
}

interface Attempt {
  readonly method: string;
  readonly target: string;
  readonly body?: unknown;
  readonly key: string | null;
}

/**
 * Makes each call wrong in the ways that its operation refuses, and returns the answers, in plain JSON and as problem
 * details: the first of each status. Operations with the same answer share one.
 */
export async function recordErrors(of: ErrorsOf): Promise<RecordedError[]> {
  const found = new Map<string, { readonly operations: string[]; readonly error: Omit<RecordedError, 'operations'> }>();
  for (const call of of.calls) {
    const seen = new Set<number>();
    for (const attempt of attempts(call, of)) {
      const { status, answer } = await ask(of.httpUrl, attempt, 'application/json');
      if (status < 400 || seen.has(status) || !of.isDocumented(call.operation, status)) continue;
      const problem = await ask(of.httpUrl, attempt, 'application/problem+json');
      if (problem.status !== status) continue;
      seen.add(status);
      const error = { status, answer: of.cut(answer), problem: of.cut(problem.answer) };
      const text = JSON.stringify(error);
      const known = found.get(text);
      if (known === undefined) found.set(text, { operations: [call.operation], error });
      else known.operations.push(call.operation);
    }
  }
  return [...found.values()].map(({ operations, error }) => ({ operations: operations.sort(), ...error }));
}

/** Those that say most about the operation come first. */
function* attempts({ operation, target, body }: RecordedCall, { apiKey, plainKey }: ErrorsOf): Generator<Attempt> {
  const [method = '', route = ''] = operation.split(' ');
  const [path = ''] = target.split('?');
  const right = { method, target, ...(body !== undefined && { body }), key: apiKey };
  const bodies = Array.isArray(body) ? [[{}], 'nonsense'] : [{}, 'nonsense'];
  if (body !== undefined) for (const wrong of bodies) yield { ...right, body: wrong };
  if (target.includes('?')) yield { ...right, target: path };
  yield { ...right, target: `${path}?nonsense=1` };
  const given = path.split('/');
  const nowhere = route.split('/').map((part, i) => (part.startsWith('{') ? zeros(given[i] ?? '') : part));
  if (route.includes('{')) {
    yield { ...right, target: target.replace(path, nowhere.join('/')) };
    yield { ...right, target: route.replaceAll(/\{\w+\}/g, 'nonsense') };
  }
  yield { ...right, key: plainKey };
  yield { ...right, key: null };
  yield { ...right, method: 'PUT', body: undefined };
}

/** An id or an address that nothing has, as long as the one given. */
function zeros(id: string): string {
  return id.replaceAll(/(?<=^(?:0x)?[0-9a-f]*)[0-9a-f]/gi, '0');
}

async function ask(httpUrl: string, attempt: Attempt, accept: string): Promise<{ status: number; answer: unknown }> {
  const { method, target, body, key } = attempt;
  const response = await fetch(httpUrl + target, {
    method,
    headers: { accept, ...(key !== null && { 'x-apikey': key }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, answer: isJson ? JSON.parse(text) : null };
}
