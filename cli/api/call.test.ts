import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();

describe('svc api', () => {
  it('calls any path, query and all, and prints JSON', async () => {
    api.on('GET /things', { body: { things: [1] } });
    expect(await svc(api, 'api GET /things?limit=1&q=a%2Fb')).toMatchObject({
      code: 0,
      out: '{\n  "things": [\n    1\n  ]\n}\n',
    });
    expect(api.asked[0]).toMatchObject({
      target: '/things?limit=1&q=a%2Fb',
      headers: { authorization: 'Bearer key_1' },
    });
  });

  it('sends a body, with a key against repetition', async () => {
    api.on('POST /things', { status: 201, body: { id: '1' } });
    await svc(api, 'api post /things --data -', { input: '{"a":1}' });
    expect(api.asked[0]).toMatchObject({
      method: 'POST',
      body: { a: 1 },
      headers: { 'idempotency-key': expect.any(String) as string },
    });
  });

  it('prints text as it is, and nothing for nothing', async () => {
    api.on('GET /metrics', (response) => response.setHeader('content-type', 'text/plain').end('up 1'));
    expect((await svc(api, 'api GET /metrics')).out).toBe('up 1\n');
    api.on('DELETE /things/1', { status: 204 });
    expect(await svc(api, 'api DELETE /things/1')).toMatchObject({ code: 0, out: '' });
  });

  it('prints in another format when asked', async () => {
    api.on('GET /things', { body: { id: '1', name: 'x' } });
    expect((await svc(api, 'api GET /things --json=id')).out).toBe('{\n  "id": "1"\n}\n');
    expect((await svc(api, 'api GET /things -o tsv')).out).toBe('id\t1\nname\tx\n');
  });

  it('fails like every other command', async () => {
    api.on('GET /things', apiError(404, 'not_found', 'no such thing'));
    expect(await svc(api, 'api GET /things')).toMatchObject({ code: 5, out: '' });
  });

  it.each([
    ['api', 'needs <METHOD>, <path>'],
    ['api FETCH /x', '<METHOD> must be one of GET, POST, PUT, PATCH, DELETE'],
    ['api GET http://evil/', '<path> must begin with "/"'],
    ['api GET /teams/{teamId}', 'put a value in place of {teamId}'],
    ['api GET /x --data {}', 'a GET request has no body'],
  ])('refuses "%s"', async (line, message) => {
    await ends(api, line, { code: 2, says: message });
    expect(api.asked).toEqual([]);
  });
});
