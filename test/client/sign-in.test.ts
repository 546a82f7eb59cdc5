import t from 'tap';
import { OrderbookClient } from '../../src/client/node.js';
import { signIn } from '../../src/client/sign-in.js';
import { info, error, ScriptedServer } from './scripted-server.js';

const address = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const signature = `0x${'ab'.repeat(65)}` as const;
const at = { url: 'https://book.example.org', chainId: '42161', issuedAtMs: 1_704_067_200_000 };

/** The message that is signed with these terms and this nonce of the server. */
async function signed(terms: { readonly domain?: string }, nonce = 'a1b2c3d4e5'): Promise<string> {
  let message = '';
  const calls = {
    nonce: () => Promise.resolve({ nonce }),
    verify: () => Promise.resolve({ address, token: null, expiresAt: null } as const),
  };
  const signMessage = (text: string) => {
    message = text;
    return Promise.resolve(signature);
  };
  await signIn(calls, { address, signMessage, ...terms }, at);
  return message;
}

t.test("what is signed names the client's service and chain, and the address with its checksum", async (t) => {
  t.equal(
    await signed({}),
    [
      'book.example.org wants you to sign in with your Ethereum account:',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '',
      'URI: https://book.example.org',
      'Version: 1',
      'Chain ID: 42161',
      'Nonce: a1b2c3d4e5',
      'Issued At: 2024-01-01T00:00:00.000Z',
    ].join('\n'),
  );
  t.match(await signed({ domain: 'page.example.org' }), /^page[^]*URI: https:\/\/page\.example\.org\n/);
});

t.test('a nonce that would bring other lines into the message is not signed', async (t) => {
  for (const nonce of ['a1b2c3d4\nURI: https://evil.example', '', 'short', 'a'.repeat(300)]) {
    await t.rejects(signed({}, nonce), /no nonce/);
  }
});

/** A client that has signed in, with a session of this token. */
async function signedIn() {
  const server = new ScriptedServer();
  const client = new OrderbookClient({ url: 'http://quotes.test', apiKey: 'k', chainId: '421613' }, server.ports);
  const token = 'qbs_1';
  server.answer = { status: 200, body: JSON.stringify({ nonce: 'a1b2c3d4', address, token, expiresAt: 7 }) };
  await client.signIn({ address, signMessage: () => Promise.resolve(signature) });
  server.requests.length = 0;
  return { server, client };
}

t.test('a call with a token that the server refuses is sent again with the key', async (t) => {
  const { server, client } = await signedIn();
  t.strictSame(client.session, { address, token: 'qbs_1', expiresAt: 7 });
  server.answer = { status: 401, body: '{"message":"NOT_FOUND"}' };
  await t.rejects(client.rest.tickers(), /NOT_FOUND/);
  const sent = server.requests.map(({ headers }) => headers['x-apikey']);
  t.strictSame(sent, ['qbs_1', 'k'], 'once each: a key that is refused is not retried');
  t.equal(client.session, null);
});

t.test('a connection with a token that the server refuses is opened again with the key', async (t) => {
  const { server, client } = await signedIn();
  t.teardown(() => client.close());
  client.followTickers();
  server.socket.onopen?.();
  t.match(server.socket.next(), { type: 'AUTH', apiKey: 'qbs_1' });
  server.socket.says(error('NOT_FOUND'));
  t.equal(client.connection, 'WAITING');
  server.clock.advance(1_000);
  server.socket.onopen?.();
  t.match(server.socket.next(), { type: 'AUTH', apiKey: 'k' });
  server.socket.says(info('Successfully authorized.'));
  t.equal(client.connection, 'OPEN');
});

t.test('signing out ends the session with its token, and sends the key from then on', async (t) => {
  const { server, client } = await signedIn();
  server.answer = { status: 200, body: '{"signedOut":true}' };
  await client.signOut();
  t.match(server.requests, [{ url: 'http://quotes.test/auth/signout', headers: { 'x-apikey': 'qbs_1' } }]);
  t.equal(client.session, null);
  await client.signOut();
  t.equal(server.requests.length, 1, 'there is no session to end');
});
