import t from 'tap';
import { encodeGetPoolAddress } from '../../src/chain/pool-addresses.js';
import type { Hex, PoolKey } from '../../src/engine/quote.js';
import { samplePool } from '../engine/samples.js';

t.test('the factory is asked the same, in whatever letter case the addresses of a key come', (t) => {
  const base: Hex = '0x5c4a427fbc88c761db3887d88606d97d32e95c3b';
  const { poolKey } = samplePool(0);
  const withBase = (address: Hex): PoolKey => ({ ...poolKey, base: address });
  const asked = encodeGetPoolAddress(withBase(base));
  const cases: Hex[] = [
    '0x5C4A427FBC88C761DB3887D88606D97D32E95C3B',
    '0x5c4A427Fbc88c761db3887d88606D97D32e95c3B', // EIP-55
    '0x5C4A427Fbc88c761db3887d88606D97D32e95c3B', // and no longer
  ];
  for (const address of cases) t.equal(encodeGetPoolAddress(withBase(address)), asked, address);
  t.end();
});
