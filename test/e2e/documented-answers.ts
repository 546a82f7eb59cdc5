import { Ajv2020 } from 'ajv/dist/2020.js';
import { httpErrors, isMessageOf, socketErrors } from '../../src/api-docs/error-docs.js';
import { apiDocuments } from '../../src/api-documents.js';
import { limits } from '../../src/config/limits.js';

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly const?: string; readonly enum?: readonly string[] }>>;
}
interface MessageJson {
  readonly name: string;
  readonly payload: Schema;
}

const documents = apiDocuments(limits);
const openApi = JSON.parse(documents.openApi) as { readonly paths: Readonly<Record<string, object>> };
const asyncApi = JSON.parse(documents.asyncApi) as {
  readonly channels: Readonly<
    Record<'plain' | 'v2', { readonly messages: Readonly<Record<string, MessageJson | undefined>> }>
  >;
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
};
// Documents hold more than schemas, and schemas keywords of ours.
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(openApi, 'openapi.json');
ajv.addSchema(asyncApi, 'asyncapi.json');

/** What is wrong with a value by a place in one of the documents; null: nothing. */
function problemWith(value: unknown, file: string, place: readonly string[]): string | null {
  const tokens = place.map((token) => encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1')));
  const validate = ajv.getSchema(`${file}#/${tokens.join('/')}`);
  if (validate === undefined) return `${place.join(' ')} is not documented`;
  return validate(value) === true ? null : ajv.errorsText(validate.errors);
}

/** Throws when a route that is documented answers what its document does not say, or with words that no table has. */
export function assertDocumented(about: {
  readonly method: string;
  readonly path: string;
  readonly response: Pick<Response, 'status' | 'headers'>;
  readonly answer: unknown;
}): void {
  const { method, path, response, answer } = about;
  const { status } = response;
  const at = `${method} ${path} ${status}`;
  if (status >= 400) assertDocumentedError(status, answer, at);
  if (openApi.paths[path] === undefined) return;
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
  const answered = ['paths', path, method.toLowerCase(), 'responses', String(status)];
  // An answer without a body is documented without one.
  if (status === 304 && problemWith(null, 'openapi.json', answered) === null) return;
  const place = [...answered, 'content', type, 'schema'];
  const problem = problemWith(answer, 'openapi.json', place);
  if (problem !== null) throw new Error(`${at}: ${problem}`);
}

function assertDocumentedError(status: number, answer: unknown, at: string): void {
  const { message } = answer as { readonly message?: unknown };
  if (typeof message !== 'string') return;
  const known = httpErrors[status] ?? [];
  if (!known.some((error) => isMessageOf(error, message))) throw new Error(`${at}: no table has "${message}"`);
}

/** Throws when a frame from the server is none that is documented for its protocol. */
export function assertDocumentedFrame(frame: unknown, channel: 'plain' | 'v2'): void {
  const { type, message } = frame as { readonly type?: string; readonly message?: string };
  if (type === 'ERROR' && !socketErrors.some((error) => isMessageOf(error, message ?? ''))) {
    throw new Error(`no table has "${message}"`);
  }
  const { messages } = asyncApi.operations[`${channel}FromServer`] ?? { messages: [] };
  const names = messages.map(({ $ref }) => $ref.split('/').at(-1) ?? '');
  const candidates = names.filter((name) => {
    const named = asyncApi.channels[channel].messages[name]?.payload.properties?.type;
    return named?.const === type || named?.enum?.includes(type ?? '');
  });
  const place = (name: string) => ['channels', channel, 'messages', name, 'payload'];
  const problems = candidates.map((name) => problemWith(frame, 'asyncapi.json', place(name)));
  if (problems.includes(null)) return;
  throw new Error(`${JSON.stringify(frame)} is no documented frame of ${channel}: ${problems.join('; ')}`);
}
