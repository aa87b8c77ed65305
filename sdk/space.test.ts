import { describe, expect, it } from 'vitest';
import { useFakeServer } from './core/testing/fake-server.ts';
import { createSvcSDK } from './index.ts';

const server = useFakeServer();

describe('a space handle', () => {
  const space = (id = 'spc_1') => createSvcSDK({ baseUrl: server.baseUrl, maxRetries: 0 }).space(id);

  it('asks nothing before it is used', () => {
    expect(space().id).toBe('spc_1');
    expect(server.seen).toEqual([]);
  });

  it('lists the projects of its space over all pages', async () => {
    server.reply(
      { body: { projects: [{ id: 'prj_2' }], nextCursor: 'c1' } },
      { body: { projects: [{ id: 'prj_1' }] } },
    );
    expect((await space().projects.list()).map(({ id }) => id)).toEqual(['prj_2', 'prj_1']);
    expect(server.seen.map(({ target }) => target)).toEqual([
      '/projects?spaceId=spc_1',
      '/projects?spaceId=spc_1&cursor=c1',
    ]);
  });

  it('searches, looks over and asks under its id', async () => {
    server.reply(
      { body: { results: [{ id: 'env_1' }] } },
      { body: { projectCount: 3 } },
      {
        status: 503,
        body: { error: { code: 'unavailable', message: 'AI is not configured', retryable: false } },
      },
    );
    const { search, overview, ai } = space('spc/1');
    expect(await search('two words', ['environment'])).toEqual([{ id: 'env_1' }]);
    expect(await overview()).toEqual({ projectCount: 3 });
    await expect(ai([{ role: 'user', content: 'why?' }])).rejects.toMatchObject({
      status: 503,
      code: 'unavailable',
      retryable: false,
    });
    expect(server.seen.map(({ method, target }) => `${method} ${target}`)).toEqual([
      'GET /spaces/spc%2F1/search?query=two+words&kinds=environment',
      'GET /spaces/spc%2F1/overview',
      'POST /spaces/spc%2F1/ai',
    ]);
    expect(JSON.parse(server.seen[2]?.body ?? '')).toEqual({ messages: [{ role: 'user', content: 'why?' }] });
  });

  it('passes options of the call on', async () => {
    server.reply({ body: {} });
    await space().overview({ headers: { 'x-own': '1' } });
    expect(server.seen[0]?.headers['x-own']).toBe('1');
    await expect(space().overview({ signal: AbortSignal.abort() })).rejects.toThrow(/aborted/);
  });
});
