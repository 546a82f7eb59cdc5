import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** An operator has to know which address it is; the cause is what the system says of it. */
export class CannotListen extends Error {
  override readonly name = 'CannotListen';

  constructor(host: string, port: number, cause: unknown) {
    super(`Cannot listen on ${host} port ${port}`, { cause });
  }
}

/** Resolves to the port, which is a free one where 0 is asked for; rejects with CannotListen. */
export async function listenOn(server: Server, host: string, port: number): Promise<number> {
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CannotListen(host, port, error);
  }
  return (server.address() as AddressInfo).port;
}
