import t from 'tap';
import { openApi } from '../../src/api-docs/openapi.js';
import { documentedRoutes } from '../../src/app/http-wiring.js';
import { limits } from '../../src/config/limits.js';

type Operations = Readonly<Record<string, { readonly operationId: string }>>;

await t.test('each operation has a name of its own that a program can have', (t) => {
  const { paths } = openApi(documentedRoutes(limits, ['WETH']), {
    version: '1.0.0',
  }) as {
    readonly paths: Readonly<Record<string, Operations>>;
  };
  const ids = Object.values(paths).flatMap((operations) =>
    Object.values(operations).map(({ operationId }) => operationId),
  );
  t.ok(ids.length > 10, `${ids.length} operations`);
  t.strictSame(
    ids.filter((id) => !/^[a-z][A-Za-z]*$/.test(id)),
    [],
  );
  t.equal(new Set(ids).size, ids.length);
  t.end();
});
