import t from 'tap';
import type { TSchema } from 'typebox';
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
  const message = renderError(401, { message: 'NOT_FOUND' }, undefined);
  t.strictSame(message, { contentType: 'application/json', body: '{"message":"NOT_FOUND"}' });
  const list = renderError(400, [error], 'application/json, */*');
  t.equal(list.contentType, 'application/json');
  t.strictSame(JSON.parse(list.body), [error]);
  t.ok(takes(ErrorBody, message.body));
  t.ok(takes(SchemaErrors, list.body));
});

t.test('clients that name problem details get them', async (t) => {
  const list = renderError(400, [error], 'application/problem+json, application/json;q=0.5');
  t.equal(list.contentType, 'application/problem+json');
  t.strictSame(JSON.parse(list.body), {
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    detail: 'must be string',
    errors: [error],
  });
  const late = renderError(504, { message: 'late', pending: ['0x1'] }, 'text/html, Application/Problem+JSON; q=1');
  t.strictSame(JSON.parse(late.body), {
    type: 'about:blank',
    title: 'Gateway Timeout',
    status: 504,
    detail: 'late',
    pending: ['0x1'],
  });
  const least = renderError(400, [error], 'application/json, application/problem+json;q=0.1');
  t.equal(least.contentType, 'application/problem+json', 'however little it is wanted');
  t.ok(takes(Problem, list.body));
  t.ok(takes(Problem, late.body));
});

t.test('wildcards and refusals do not name them', async (t) => {
  for (const accept of ['*/*', 'application/*', 'application/problem+json;q=0', 'application/problem+xml', '']) {
    t.equal(renderError(500, { message: 'x' }, accept).contentType, 'application/json', accept);
  }
});
