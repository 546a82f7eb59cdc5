import t from 'tap';
import type { TSchema } from 'typebox';
import { ERROR_CODES } from '../../src/wire/error-codes.js';
import { ErrorBody, Problem, renderError, SchemaErrors } from '../../src/wire/problem.js';
import { compile } from '../../src/wire/validation.js';

const error = {
  keyword: 'type',
  instancePath: '/0/size',
  schemaPath: '#/items/properties/size/type',
  params: { type: 'string' },
  message: 'must be string',
};

function takes(schema: TSchema, body: string): boolean {
  return compile(schema, 1)(JSON.parse(body)).ok;
}

t.test('a message is a bare object, schema errors a bare array', async (t) => {
  const message = renderError('api_key_unknown', { message: 'NOT_FOUND' }, undefined);
  t.strictSame(message, { status: 401, contentType: 'application/json', body: '{"message":"NOT_FOUND"}' });
  const list = renderError('invalid_parameter', [error], 'application/json, */*');
  t.equal(list.contentType, 'application/json');
  t.strictSame(JSON.parse(list.body), [error]);
  t.ok(takes(ErrorBody, message.body));
  t.ok(takes(SchemaErrors, list.body));
});

t.test('clients that name problem details get them', async (t) => {
  const list = renderError('invalid_parameter', [error], 'application/problem+json, application/json;q=0.5');
  t.equal(list.contentType, 'application/problem+json');
  t.strictSame(JSON.parse(list.body), {
    type: '/docs#error-invalid_parameter',
    title: ERROR_CODES.invalid_parameter.title,
    status: 400,
    detail: 'must be string',
    code: 'invalid_parameter',
    retryable: false,
    param: '0.size',
    errors: [error],
  });
  const late = renderError(
    'publication_not_confirmed',
    { message: 'late', pending: ['0x1'] },
    'text/html, Application/Problem+JSON; q=1',
  );
  t.strictSame(JSON.parse(late.body), {
    type: '/docs#error-publication_not_confirmed',
    title: ERROR_CODES.publication_not_confirmed.title,
    status: 504,
    detail: 'late',
    code: 'publication_not_confirmed',
    retryable: true,
    pending: ['0x1'],
  });
  const least = renderError('invalid_parameter', [error], 'application/json, application/problem+json;q=0.1');
  t.equal(least.contentType, 'application/problem+json', 'however little it is wanted');
  t.ok(takes(Problem, list.body));
  t.ok(takes(Problem, late.body));
});

t.test('wildcards and refusals do not name them', async (t) => {
  for (const accept of ['*/*', 'application/*', 'application/problem+json;q=0', 'application/problem+xml', '']) {
    t.equal(renderError('internal_error', { message: 'x' }, accept).contentType, 'application/json', accept);
  }
});

t.test('the parameter of a schema error is the field that is wrong, missing or unknown', async (t) => {
  const paramOf = (about: object): unknown => {
    const { body } = renderError('invalid_parameter', [{ ...error, ...about }], 'application/problem+json');
    return (JSON.parse(body) as { readonly param?: unknown }).param;
  };
  t.equal(paramOf({ instancePath: '', params: { missingProperty: 'side' } }), 'side');
  t.equal(paramOf({ instancePath: '/2/poolKey', params: { missingProperty: 'strike' } }), '2.poolKey.strike');
  t.equal(paramOf({ instancePath: '', params: { additionalProperty: 'x'.repeat(100) } }), 'x'.repeat(40));
  t.equal(paramOf({ instancePath: '', params: {} }), undefined, 'the whole value is wrong');
});

t.test('a route may name the parameter, which plain clients do not see', async (t) => {
  const cause = { code: 'invalid_expiration', param: 'expiration' } as const;
  const body = { message: 'no', expiration: '99ABC99', code: 'mine', status: 1 };
  t.equal(renderError(cause, body, undefined).body, JSON.stringify(body));
  t.match(JSON.parse(renderError(cause, body, 'application/problem+json').body), {
    status: 400,
    code: 'invalid_expiration',
    param: 'expiration',
    expiration: '99ABC99',
  });
});
