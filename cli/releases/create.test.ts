import { describe, expect, it } from 'vitest';
import { run } from '../shell/run.ts';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { fakeIo, NOW_MS } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();

const digest = `sha256:${'1'.repeat(64)}`;
const ARTIFACT = `GET /teams/team_1/artifacts/${encodeURIComponent(digest)}`;
const missing = apiError(404, 'not_found', 'there is none');
const line = 'releases create 1.4.0 --project prj_1';

/** Each pause takes its time at once. */
async function atOnce(words: string): Promise<{ code: number; err: string }> {
  let now = NOW_MS;
  const io = {
    ...fakeIo({ env: { SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' } }),
    now: () => now,
    pause: async (ms: number) => void (now += ms),
  };
  return { code: await run(words.split(' '), io), err: io.err() };
}

const answers = (build: object = { digest, state: 'succeeded' }): void => {
  api.on('POST /projects/prj_1/releases', { status: 201, body: { id: 'rel_1', version: '1.4.0' } });
  api.on('GET /projects/prj_1/environments', { body: { environments: [{ id: 'env_1' }, { id: 'env_2' }] } });
  api.on('GET /environments/env_1/builds/bld_1', missing);
  api.on('GET /environments/env_2/builds/bld_1', { body: { id: 'bld_1', teamId: 'team_1', ...build } });
};
const created = (): unknown => api.asked.find(({ method }) => method === 'POST')?.body;

describe('svc releases create', () => {
  it('takes artifacts by --artifact and by its longer spelling, each once', async () => {
    answers();
    const { code, out } = await svc(
      api,
      `${line} --artifact art_1 --artifact art_2 --artifact-ids art_1 --notes fix`,
    );
    expect([code, out]).toEqual([0, 'id\trel_1\nversion\t1.4.0\n']);
    expect(created()).toEqual({ version: '1.4.0', notes: 'fix', artifactIds: ['art_1', 'art_2'] });
  });

  it('waits until the image of the build is catalogued, and says so once', async () => {
    answers();
    api.on(ARTIFACT, missing, missing, { body: { id: 'art_7' } });
    const { code, err } = await atOnce(`${line} --build bld_1 --artifact art_1`);
    expect([code, err]).toEqual([0, 'waiting for the image of build bld_1 to be catalogued\n']);
    expect(created()).toEqual({ version: '1.4.0', artifactIds: ['art_1', 'art_7'] });
  });

  it('gives up after a minute', async () => {
    answers();
    api.on(ARTIFACT, missing);
    const { code, err } = await atOnce(`${line} --build bld_1`);
    expect([code, err]).toEqual([1, expect.stringContaining('was not catalogued within 60 s')]);
    expect(api.asked.filter(({ target }) => target.includes('/artifacts/'))).toHaveLength(61);
    expect(created()).toBeUndefined();
  });

  it.each([
    ['that has published nothing', 'bld_1', 'build bld_1 is queued and has published no image'],
    ['of another project', 'bld_2', 'no environment of project prj_1 has a build bld_2'],
  ])('makes no release of a build %s', async (_what, build, said) => {
    answers({ state: 'queued' });
    await ends(api, `${line} --build ${build}`, { code: 1, says: said });
    expect(created()).toBeUndefined();
  });
});
