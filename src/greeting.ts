import type { LocalReadyFile } from './ready-file.js';
import type { PoolKey } from './wire/orderbook.js';

/** What a newcomer reads after `npm start`: where everything is, and commands that work as they stand. */
export function greeting(ready: LocalReadyFile, readyFile: string): string {
  const { httpUrl, wsUrl, apiKey, rpcUrl, chainId, accounts, pools, tokens } = ready;
  const symbols = new Map(Object.entries(tokens).map(([symbol, address]) => [address, symbol]));
  const [pool] = pools;
  const query = `poolAddress=${pool?.poolAddress ?? ''}&side=ask&size=1000000000000000000&chainId=${chainId}`;
  return `
Quotebook is ready on a local chain.

  Page       ${httpUrl}/
  HTTP       ${httpUrl}
  WebSocket  ${wsUrl}
  API key    ${apiKey}
  JSON-RPC   ${rpcUrl} (chain ${chainId})
  All of it  ${readyFile}

Funded accounts (the first is the operator's wallet)
${accounts.map(({ address, privateKey }) => `  ${address}  ${privateKey}`).join('\n')}

Pools
${pools.map((entry) => `  ${entry.poolAddress}  ${describe(entry.poolKey, symbols)}`).join('\n')}

Try it, from this directory in another terminal
  node examples/watch.mjs ${readyFile}
  node examples/post-quote.mjs ${readyFile}
  curl -H 'x-apikey: ${apiKey}' '${httpUrl}/quotes?${query}'

Ctrl-C stops all of it.
`;
}

/** Such as "testWETH/USDC call 1800 2026-11-27". */
function describe(
  { base, quote, strike, maturity, isCallPool }: PoolKey,
  symbols: ReadonlyMap<string, string>,
): string {
  const pair = `${symbols.get(base) ?? base}/${symbols.get(quote) ?? quote}`;
  const whole = (BigInt(strike) / 10n ** 18n).toString();
  return `${pair} ${isCallPool ? 'call' : 'put '} ${whole} ${new Date(maturity * 1000).toISOString().slice(0, 10)}`;
}
