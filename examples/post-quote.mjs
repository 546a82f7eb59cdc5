// Signs one ask with a maker's account (EIP-712) and posts it.
//   node examples/post-quote.mjs READY_FILE [PRICE] [SIZE]
// READY_FILE is what `npm start` writes; PRICE and SIZE are whole tokens and contracts.
import { readFileSync } from 'node:fs';
import { parseEther, parseSignature } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

const [readyFile = 'data/ready.json', price = '0.12', size = '1'] = process.argv.slice(2);
const isAbove0 = (word) => /^\d+(\.\d+)?$/.test(word) && Number(word) > 0;
if (![price, size].every(isAbove0)) {
  console.error(
    `PRICE and SIZE are decimal numbers above 0:\n  node examples/post-quote.mjs READY_FILE [PRICE] [SIZE]`,
  );
  process.exit(2);
}
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { httpUrl, apiKey, chainId, accounts, pools } = { ...ready, ...ready.gateways?.[0] };
const maker = privateKeyToAccount(accounts[1].privateKey);
const { poolAddress, poolKey } = pools[0];
const nowMs = Date.now();

const quote = {
  provider: maker.address,
  taker: '0x0000000000000000000000000000000000000000',
  price: parseEther(price).toString(),
  size: parseEther(size).toString(),
  isBuy: false,
  deadline: Math.floor(nowMs / 1000) + 3600,
  salt: nowMs,
};

const signed = await maker.signTypedData({
  domain: { name: 'Premia', version: '1', chainId, verifyingContract: poolAddress },
  primaryType: 'FillQuoteOB',
  types: {
    FillQuoteOB: [
      { name: 'provider', type: 'address' },
      { name: 'taker', type: 'address' },
      { name: 'price', type: 'uint256' },
      { name: 'size', type: 'uint256' },
      { name: 'isBuy', type: 'bool' },
      { name: 'deadline', type: 'uint256' },
      { name: 'salt', type: 'uint256' },
    ],
  },
  message: { ...quote, deadline: BigInt(quote.deadline), salt: BigInt(quote.salt) },
});
const { r, s, v } = parseSignature(signed);

const response = await fetch(`${httpUrl}/quotes`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-apikey': apiKey },
  body: JSON.stringify([{ poolKey, chainId: String(chainId), ...quote, signature: { r, s, v: Number(v) } }]),
});
console.log(response.status, JSON.stringify(await response.json(), null, 2));
if (response.status !== 201) process.exitCode = 1;
