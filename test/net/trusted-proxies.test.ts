import t from 'tap';
import { TrustedProxies } from '../../src/net/trusted-proxies.js';
import { head, RawConnection, upgradeHead } from './raw-connection.js';
import { eachBackend, quietSockets, serve } from './serving.js';

const proxies = new TrustedProxies(['10.0.0.0/8', '127.0.0.1', '2001:db8::/32']);
const client = (peer: string, ...lines: string[]): string => proxies.clientOf(peer, () => lines.join());

t.test('the client is the rightmost hop that is no trusted proxy', async (t) => {
  t.equal(client('127.0.0.1', '203.0.113.7'), '203.0.113.7');
  t.equal(client('127.0.0.1', '203.0.113.7, 10.1.2.3'), '203.0.113.7', 'through two proxies');
  t.equal(client('2001:db8::1', '203.0.113.7,2001:db8:0:1::2 , 10.1.2.3'), '203.0.113.7');
});

t.test('what a client wrote into the header itself counts for nothing', async (t) => {
  t.equal(client('127.0.0.1', '198.51.100.1, 203.0.113.7'), '203.0.113.7', 'a hop before its own');
  t.equal(client('127.0.0.1', '10.9.9.9, 203.0.113.7'), '203.0.113.7', 'the address of a proxy');
  t.equal(client('127.0.0.1', '198.51.100.1', '203.0.113.7'), '203.0.113.7', 'in a line of its own');
  t.equal(client('203.0.113.7', '198.51.100.1'), '203.0.113.7', 'past all proxies');
  t.equal(client('11.0.0.1', '198.51.100.1, 10.0.0.1'), '11.0.0.1');
});

t.test('where no hop can be believed, the proxy that sent it counts', async (t) => {
  for (const hops of ['', 'unknown', '203.0.113.7, unknown', '_hidden', '1.2.3', '203.0.113.7, 1.2.3.4.5', ',']) {
    t.equal(client('127.0.0.1', hops), '127.0.0.1', hops);
  }
  t.equal(client('127.0.0.1', 'unknown, 10.1.2.3'), '10.1.2.3');
  t.equal(
    proxies.clientOf('127.0.0.1', () => undefined),
    '127.0.0.1',
  );
  t.equal(client('127.0.0.1', '10.0.0.1, 10.0.0.2'), '10.0.0.1', 'a proxy that asks for itself');
  t.equal(client('', '203.0.113.7'), '', 'a peer that is gone');
});

t.test('an address has one text form, however a proxy writes it', async (t) => {
  for (const [hop, address] of [
    ['203.0.113.7:50123', '203.0.113.7'],
    ['[2001:DB9:0::0:7]:443', '2001:db9::7'],
    ['[2001:db9::7]', '2001:db9::7'],
    ['2001:0db9:0000::7', '2001:db9::7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
  ] as const) {
    t.equal(client('127.0.0.1', hop), address, hop);
  }
});

t.test('without proxies nobody is believed', async (t) => {
  const none = new TrustedProxies([]);
  t.equal(
    none.clientOf('127.0.0.1', () => '203.0.113.7'),
    '127.0.0.1',
  );
  t.throws(() => new TrustedProxies(['proxy.example']), /proxy.example is no address/);
});

eachBackend(t, (t, backend) => {
  t.test('requests and sockets have the address that a trusted proxy forwards for', async (t) => {
    const upgraded: string[] = [];
    const opened: string[] = [];
    const { port } = await serve(t, backend, {
      trustedProxies: ['127.0.0.1/32'],
      http: (r) =>
        r.path === '/now'
          ? { status: 200, headers: {}, body: `<${r.remoteAddress}>` }
          : new Promise((resolve) => {
              setImmediate(() => resolve({ status: 200, headers: {}, body: `<${r.remoteAddress}>` }));
            }),
      sockets: {
        ...quietSockets,
        upgrade: (r) => {
          upgraded.push(r.remoteAddress);
          return { accept: true, protocol: '' };
        },
        open: (socket) => {
          opened.push(socket.remoteAddress);
          socket.send('open', false);
        },
      },
    });
    const hops = ['X-Forwarded-For: 198.51.100.1', 'X-Forwarded-For: 198.51.100.2, 203.0.113.7'];
    const ask = async (from: string, end: string, text: string): Promise<string> => {
      const connection = await RawConnection.open(port, '127.0.0.1', from);
      await connection.send(text);
      const answer = await connection.until((received) => received.endsWith(end));
      connection.reset();
      return answer;
    };
    for (const path of ['/now', '/later']) {
      t.match(await ask('127.0.0.1', '>', head(`GET ${path} HTTP/1.1`, 'Host: x', ...hops)), '<203.0.113.7>');
      t.match(await ask('127.0.0.2', '>', head(`GET ${path} HTTP/1.1`, 'Host: x', ...hops)), '<127.0.0.2>');
    }
    await ask('127.0.0.1', 'open', upgradeHead(...hops));
    await ask('127.0.0.2', 'open', upgradeHead(...hops));
    t.strictSame([upgraded, opened], Array(2).fill(['203.0.113.7', '127.0.0.2']));
  });

  t.test('a PROXY header names nobody: a client could send one before each of its requests', async (t) => {
    const { port } = await serve(t, backend, {
      trustedProxies: ['127.0.0.1'],
      http: (r) => ({ status: 200, headers: {}, body: `<${r.remoteAddress}>` }),
    });
    const connection = await RawConnection.open(port);
    const version2 = Buffer.from('0d0a0d0a000d0a515549540a2111000ccb0071077f00000100010050', 'hex');
    await connection.send(Buffer.concat([version2, Buffer.from(head('GET / HTTP/1.1', 'Host: x'))]));
    await Promise.race([connection.until((text) => text.endsWith('>')).catch(() => undefined), connection.closed]);
    t.notMatch(connection.text, '203.0.113.7');
    connection.reset();
  });
});
