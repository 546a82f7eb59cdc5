import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AnyValidateFunction } from 'ajv/dist/types/index.js';
import { httpErrors, socketErrors } from '../../src/api-docs/errors.js';
import { apiDocuments } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';
import { routePath } from '../../src/http/router.js';
import { isMessageOf } from '../api-docs/message-of.js';

/**
 * Every answer and every frame that a test gets from the service itself goes through here: over `fetch` and the client
 * library (documented-network.ts), over clients of the tests' own, and as bytes (documented-bytes.ts). Not what the
 * tests of src/net get: they bring routes of their own, which no document knows. Nor what is served elsewhere: metrics
 * have a port of their own, and the examples are programs of their own.
 */
interface Schema {
  readonly properties?: Readonly<Record<string, { readonly const?: string; readonly enum?: readonly string[] }>>;
}
/** Protocols of the WebSocket, as the document names them. */
export type SocketForm = 'plain' | 'v2' | 'readable';
interface MessageJson {
  readonly name: string;
  readonly payload: Schema;
}

const documents = apiDocuments(limits, { chainId: '421613', symbols: [], vaultBases: [] });
const openApi = JSON.parse(documents.openApi) as { readonly paths: Readonly<Record<string, object>> };
const asyncApi = JSON.parse(documents.asyncApi) as {
  readonly channels: Readonly<
    Record<SocketForm, { readonly messages: Readonly<Record<string, MessageJson | undefined>> }>
  >;
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
};
// Documents hold more than schemas, and schemas keywords of ours.
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(openApi, 'openapi.json');
ajv.addSchema(asyncApi, 'asyncapi.json');

/** What is wrong with a value by a place in one of the documents; null: nothing. */
function problemWith(value: unknown, file: string, place: readonly string[]): string | null {
  const validate = validatorOf(file, place);
  return validate === undefined ? `${place.join(' ')} is not documented` : problemBy(validate, value);
}

function validatorOf(file: string, place: readonly string[]): AnyValidateFunction | undefined {
  const tokens = place.map((token) => encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1')));
  return ajv.getSchema(`${file}#/${tokens.join('/')}`);
}

function problemBy(validate: AnyValidateFunction, value: unknown): string | null {
  return validate(value) === true ? null : ajv.errorsText(validate.errors);
}

/** Throws when a route that is documented answers what its document does not say, or with words that no table has. */
export function assertDocumented(about: {
  readonly method: string;
  readonly path: string;
  readonly response: Pick<Response, 'status' | 'headers'>;
  readonly answer: unknown;
}): void {
  const { method, response, answer } = about;
  // A path of a route with parameters goes by the route's.
  const path =
    about.path in openApi.paths ? about.path : (routePath(Object.keys(openApi.paths), about.path) ?? about.path);
  const { status } = response;
  const at = `${method} ${path} ${status}`;
  if (status >= 400) assertDocumentedError(status, answer, at);
  const operations = openApi.paths[path];
  // A path that no document has, or a method that its path has not: what else may be said then is that, or leave for a
  // page.
  if (operations === undefined || !(operationOf(method) in operations)) {
    if (status < 400 && method !== 'OPTIONS') throw new Error(`${at} is not documented`);
    return;
  }
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
  const answered = ['paths', path, operationOf(method), 'responses', String(status)];
  // An answer without a body is documented without one.
  if (status === 304 && problemWith(null, 'openapi.json', answered) === null) return;
  const place = [...answered, 'content', type, 'schema'];
  if (method === 'HEAD') return;
  const problem = problemWith(answer, 'openapi.json', place);
  if (problem !== null) throw new Error(`${at}: ${problem}`);
}

/** What was found as documented already: under load the same answers come a thousand times. */
const found = new Set<string>();
const MOST_FOUND = 1_000;

/** An answer as it came, to any client. */
export interface AnswerText {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly status: number;
  /** Value of content-type. */
  readonly type: string;
  readonly text: string;
}

/** As `assertDocumented`. */
export function assertDocumentedText({ method, target, status, type, text }: AnswerText): void {
  const path = target.split('?')[0] ?? '';
  const key = JSON.stringify([method, path, status, type, text]);
  if (found.has(key)) return;
  const response = { status, headers: new Headers(type === '' ? {} : { 'content-type': type }) };
  const isJson = /^application\/(problem\+)?json/.test(type);
  assertDocumented({ method, path, response, answer: isJson && text !== '' ? JSON.parse(text) : text });
  if (found.size >= MOST_FOUND) found.clear();
  found.add(key);
}

/** A HEAD is documented as the GET that it stands for. */
function operationOf(method: string): string {
  return method === 'HEAD' ? 'get' : method.toLowerCase();
}

function assertDocumentedError(status: number, answer: unknown, at: string): void {
  const { message, detail, errors, code } = answer as Readonly<Record<string, unknown>>;
  const text = errors === undefined ? (message ?? detail) : undefined;
  if (typeof text !== 'string') return;
  const known = (httpErrors[status] ?? []).filter((error) => isMessageOf(error, text));
  if (known.length === 0) throw new Error(`${at}: no table has "${text}"`);
  if (code !== undefined && !known.some((error) => error.code === code)) {
    throw new Error(`${at}: no table has "${text}" with the code ${JSON.stringify(code)}`);
  }
}

/** Throws if a frame from the server is not documented for its protocol. */
export function assertDocumentedFrame(frame: unknown, channel: SocketForm): void {
  const { type = '', message, code } = frame as Readonly<Record<'type' | 'message' | 'code', string | undefined>>;
  if (type === 'ERROR') assertDocumentedSocketError(channel, message ?? '', code);
  const problems: string[] = [];
  for (const validate of frameValidators(channel, type)) {
    const problem = problemBy(validate, frame);
    if (problem === null) return;
    problems.push(problem);
  }
  throw new Error(`${JSON.stringify(frame)} is no documented frame of ${channel}: ${problems.join('; ')}`);
}

function assertDocumentedSocketError(channel: SocketForm, message: string, code: string | undefined): void {
  // Calls of the subprotocols are refused with the texts of HTTP.
  const errors = channel === 'v2' ? [...socketErrors, ...Object.values(httpErrors).flat()] : socketErrors;
  const isKnown = errors.some((error) => isMessageOf(error, message) && (channel !== 'v2' || error.code === code));
  if (!isKnown) throw new Error(`no table has "${message}" with the code ${code}`);
}

/** By protocol and type, since tests read frames by the ten thousand. */
const validatorsOfFrames = new Map<string, readonly AnyValidateFunction[]>();

/** Validators of the messages that a protocol documents with a type. */
function frameValidators(channel: SocketForm, type: string): readonly AnyValidateFunction[] {
  const key = `${channel} ${type}`;
  const known = validatorsOfFrames.get(key);
  if (known !== undefined) return known;
  const { messages } = asyncApi.operations[`${channel}FromServer`] ?? { messages: [] };
  const names = messages.map(({ $ref }) => $ref.split('/').at(-1) ?? '');
  const candidates = names.filter((name) => {
    const named = asyncApi.channels[channel].messages[name]?.payload.properties?.type;
    return named?.const === type || named?.enum?.includes(type);
  });
  const validators = candidates
    .map((name) => validatorOf('asyncapi.json', ['channels', channel, 'messages', name, 'payload']))
    .filter((validate) => validate !== undefined);
  validatorsOfFrames.set(key, validators);
  return validators;
}
