import { describe, expect, it } from 'vitest';
import { plainHttpHint } from './push.ts';

describe('plainHttpHint()', () => {
  const tail = 'pinging container registry: http: server gave HTTP response to HTTPS client';

  it.each(['127.0.0.1:5000', 'localhost:5000', '127.3.2.1'])('names what %s lacks: --insecure', (host) => {
    expect(plainHttpHint({ tail }, host)).toBe(
      `; ${host} speaks plain HTTP: remove the registry and add it again with --insecure`,
    );
  });

  it.each(['registry.lan:5000', '10.0.0.7:5000', 'localhost.example.com'])(
    'names the leave of the installation for %s',
    (host) => {
      expect(plainHttpHint({ tail }, host)).toMatch(/have the installation list it in INSECURE_REGISTRIES/);
    },
  );

  it('says nothing of other failures', () => {
    expect(plainHttpHint({ tail: 'unauthorized' }, 'localhost:5000')).toBe('');
  });
});
