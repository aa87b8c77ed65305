import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi, useFolder } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const digest = `sha256:${createHash('sha256').update('bytes').digest('hex')}`;
const GITHUB = { GITHUB_ACTIONS: 'true', GITHUB_RUN_ID: '5', GITHUB_RUN_ATTEMPT: '2' };
const GITLAB = { GITLAB_CI: 'true', CI_PIPELINE_ID: '9' };

const api = await useFakeApi();
const folder = useFolder('ci-artifact');
const path = join(folder, 'web.tgz');
writeFileSync(path, 'bytes');

const made = { id: 'art_1', digest };
const takes = (run: string) => api.on(`POST /ci/runs/${encodeURIComponent(run)}/artifacts`, { body: made });
const sent = () => api.asked.filter(({ target }) => target.endsWith('/artifacts'));

describe('svc ci artifact', () => {
  it('hashes a file and reports it for the run of the job, by what the CI system calls it', async () => {
    takes('cic_1:2:5');
    const { code, out, err } = await svc(api, `ci artifact ${path} --connection cic_1 --json`, {
      env: GITHUB,
    });
    expect([code, JSON.parse(out), err]).toEqual([0, made, '']);
    expect(sent().map(({ body }) => body)).toEqual([{ name: 'web.tgz', kind: 'file', digest }]);
  });

  it('takes an image with its digest, and flags win', async () => {
    takes('cic_1:1:9');
    const image = `localhost:5000/acme/web:1.4@${digest}`;
    await svc(api, `ci artifact ${image} --connection cic_1`, { env: GITLAB });
    const more = '--name web --kind model --uri https://x.example/web';
    await svc(api, `ci artifact ${image} --connection cic_1 ${more}`, { env: GITLAB });
    expect(sent().map(({ body }) => body)).toEqual([
      { name: 'localhost:5000/acme/web', kind: 'image', digest },
      { name: 'web', kind: 'model', digest, uri: 'https://x.example/web' },
    ]);
  });

  it('takes the run that is given, also outside of CI', async () => {
    takes('cir_1');
    expect((await svc(api, `ci artifact ${path} --run cir_1`)).code).toBe(0);
    expect(sent()).toHaveLength(1);
  });

  it('reports with id_tokens as svc ci report does', async () => {
    takes('cic_1:1:9');
    takes('cic_1:2:5');
    api.on('POST /ci/id-tokens/exchange', { body: { token: 'cijt_secret', externalRunId: '9' } });
    const gitlab = { ...GITLAB, SVC_API_KEY: '', SVC_ID_TOKEN: 'eyJ.the.idtoken' };
    expect((await svc(api, `ci artifact ${path} --connection cic_1`, { env: gitlab })).code).toBe(0);
    expect((await svc(api, `ci artifact ${path} --run cic_1:1:9`, { env: gitlab })).code).toBe(0);
    const exchanged = api.asked.filter(({ target }) => target.endsWith('/exchange'));
    expect(exchanged.map(({ body }) => body)).toMatchObject([
      { ciConnectionId: 'cic_1' },
      { ciConnectionId: 'cic_1' },
    ]);
    api.on('GET /mint', { body: { value: 'minted.token.1' } });
    const github = {
      ...GITHUB,
      SVC_API_KEY: '',
      ACTIONS_ID_TOKEN_REQUEST_URL: `${api.url}/mint`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-secret',
    };
    expect((await svc(api, `ci artifact ${path} --connection cic_1`, { env: github })).code).toBe(0);
    expect(sent().map(({ headers }) => headers.authorization)).toEqual([
      'Bearer cijt_secret',
      'Bearer cijt_secret',
      'Bearer minted.token.1',
    ]);
    await ends(api, `ci artifact ${path} --run cir_1`, { code: 2, says: 'give --connection', env: gitlab });
  });

  it('says what to do where no run is known', async () => {
    api.on(
      `POST /ci/runs/${encodeURIComponent('cic_1:2:5')}/artifacts`,
      apiError(404, 'not_found', 'there is no such CI run'),
    );
    await ends(api, `ci artifact ${path} --connection cic_1`, {
      code: 5,
      says: 'svc ci report',
      env: GITHUB,
    });
    await ends(api, `ci artifact ${path} --connection cic_1`, { code: 2, says: 'give --run' });
    await ends(api, `ci artifact ${path}`, { code: 2, says: 'give --connection or --run', env: GITHUB });
    await ends(api, `ci artifact ${folder}/none --connection cic_1`, {
      code: 2,
      says: 'ENOENT',
      env: GITHUB,
    });
    expect(sent()).toHaveLength(1);
  });
});
