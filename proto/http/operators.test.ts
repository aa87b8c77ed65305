import { afterEach, describe, expect, it } from 'vitest';
import { forOperators } from './operators.ts';
import { openDoor, type TestDoor } from './testing/app.ts';
import { rawHttp1, type RawView } from './testing/raw.ts';

let door: TestDoor | undefined;
afterEach(async () => await door?.open.close(0));

const page = () => ({ headers: { 'content-type': 'text/plain' }, body: 'figures' });
const ID = { 'x-request-id': 'the-same-for-both' };

async function ask(
  headers: Record<string, string> = {},
  path = '/metrics',
  method = 'GET',
): Promise<RawView> {
  return await rawHttp1(door?.port ?? 0, { method, path, headers: { ...ID, ...headers } });
}

describe('a page for operators', () => {
  it.each<[string, Record<string, string>, readonly string[]]>([
    ['on this machine, directly', {}, []],
    ['with an empty token', { authorization: 'Bearer ' }, []],
    ['with any token', { authorization: 'Bearer undefined' }, []],
    ['by a proxy that is trusted', { 'x-forwarded-for': '127.0.0.1' }, ['127.0.0.0/8']],
  ])(
    'is a path that nobody serves where no token is set, to who comes %s',
    async (_, headers, trustedProxies) => {
      door = await openDoor({}, { pages: { '/metrics': forOperators(page, undefined) }, trustedProxies });
      expect(await ask(headers)).toEqual(await ask(headers, '/nothing'));
    },
  );

  it('is read by who has the token, from anywhere, and by nobody else', async () => {
    door = await openDoor({}, { pages: { '/metrics': forOperators(page, 'a-token-of-operators') } });
    const right = { authorization: 'Bearer a-token-of-operators' };
    expect(await ask(right)).toMatchObject({ status: 200, body: 'figures' });
    expect((await ask(right, '/metrics', 'HEAD')).status).toBe(200);
    expect((await ask({ ...right, 'x-forwarded-for': '203.0.113.9' })).status).toBe(200);
    for (const authorization of ['', 'Bearer', 'Bearer a-token-of-operator', 'a-token-of-operators'])
      expect(await ask({ authorization })).toEqual(await ask({ authorization }, '/nothing'));
    expect((await ask()).status).toBe(404);
  });
});
