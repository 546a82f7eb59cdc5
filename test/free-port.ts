interface FreePortsScript {
  readonly freePorts: (count: number) => Promise<readonly number[]>;
}

const script = import(new URL('../../scripts/free-ports.mjs', import.meta.url).href) as Promise<FreePortsScript>;

/** A port that nobody listens at now, for a service that comes back at the same one. */
export async function freePort(): Promise<number> {
  const [port] = await (await script).freePorts(1);
  if (port === undefined) throw new Error('one port was asked for');
  return port;
}
