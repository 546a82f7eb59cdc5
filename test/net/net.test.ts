import t from 'tap';
import { SharedHeaders } from '../../src/net/net.js';

t.test('the lines are those of the record, in its order', async (t) => {
  t.equal(new SharedHeaders({ 'x-one': '1', etag: '"a, b"' }).lines, 'x-one: 1\r\netag: "a, b"');
});

t.test('what HTTP cannot carry is not taken', async (t) => {
  t.throws(() => new SharedHeaders({ 'x-one': '1', 'x-two': 'a\r\nx-evil: 1' }), /value of header x-two/);
  t.throws(() => new SharedHeaders({ 'x two': '1' }), /"x two" is no token/);
});
