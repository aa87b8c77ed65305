import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';
import { splitRepository } from './connect.ts';

const api = await useFakeApi();

describe('svc ci connect', () => {
  it('sends host and path apart', async () => {
    api.on('POST /teams/team_1/ci/connections', { status: 201, body: { id: 'cic_1' } });
    const line = 'ci connect --team team_1 --provider github --repo github.com/acme/app --json';
    const { code, out } = await svc(api, line);
    expect([code, JSON.parse(out)]).toEqual([0, { id: 'cic_1' }]);
    expect(api.asked.at(-1)?.body).toEqual({
      provider: 'github',
      repositoryHost: 'github.com',
      repositoryPath: 'acme/app',
    });
  });

  it('says what was not taken of a repository that is connected already, and what is to be done', async () => {
    api.on('POST /teams/team_1/ci/connections', {
      body: {
        id: 'cic_1',
        notTaken: [
          {
            field: 'ingestMode',
            given: 'both',
            kept: 'direct',
            command: 'svc ci connections update cic_1 --ingest-mode both',
          },
          { field: 'projectId', given: 'prj_2', kept: 'prj_1' },
        ],
        nextSteps: ['it has no project'],
      },
    });
    const { code, out, err } = await svc(
      api,
      'ci connect --team team_1 --provider github --repo github.com/acme/app --ingest-mode both --json',
    );
    expect([code, JSON.parse(out)]).toMatchObject([0, { id: 'cic_1' }]);
    expect(err).toContain(
      'ingestMode both was not taken: it is direct; to change it: svc ci connections update cic_1 --ingest-mode both',
    );
    expect(err).toContain('projectId prj_2 was not taken: it is prj_1; it cannot be changed');
    expect(err).toContain('it has no project');
  });

  it('asks for a host where there is none', async () => {
    await ends(api, 'ci connect --team team_1 --provider github --repo acme/app', {
      code: 2,
      says: 'expected host/owner/name',
    });
  });
});

describe('lists of runs and deliveries', () => {
  it('show who is waited for and why, and what became of what was sent', async () => {
    const run = { id: 'cir_1', status: 'queued', blocked: true, reason: 'approval' };
    api.on('GET /ci/pipelines/cip_1/runs', { body: { runs: [run] } });
    const runs = await svc(api, 'ci runs list --pipeline cip_1');
    for (const shown of ['true', 'approval']) expect(runs.out).toContain(shown);
    const delivery = { id: 'ciw_1', state: 'processed', runId: 'cir_1', changed: 'queued → running' };
    api.on('GET /ci/connections/cic_1/deliveries', { body: { deliveries: [delivery] } });
    const { out } = await svc(api, 'ci deliveries list cic_1');
    for (const shown of ['cir_1', 'queued → running']) expect(out).toContain(shown);
  });

  it('list the runs of a connection with their pipelines, page by page', async () => {
    const run = {
      id: 'cir_1',
      pipelineName: 'nightly',
      mergeQueue: true,
      environmentIds: ['env_1', 'env_2'],
    };
    api.on(
      'GET /ci/connections/cic_1/runs',
      { body: { runs: [run], nextCursor: 'next' } },
      { body: { runs: [{ ...run, id: 'cir_2' }] } },
    );
    const { code, out } = await svc(api, 'ci runs list --connection cic_1 --all');
    expect(code).toBe(0);
    for (const shown of ['cir_1', 'cir_2', 'nightly', 'true', 'env_1', 'env_2']) expect(out).toContain(shown);
    const asked = api.asked.filter(({ target }) => target.startsWith('/ci/connections/cic_1/runs'));
    expect(asked.map(({ target }) => target)).toEqual([
      '/ci/connections/cic_1/runs?limit=200',
      '/ci/connections/cic_1/runs?limit=200&cursor=next',
    ]);
    for (const line of ['ci runs list', 'ci runs list --connection cic_1 --pipeline cip_1']) {
      await ends(api, line, { code: 2, says: 'either --pipeline or --connection' });
    }
  });
});

describe('splitRepository()', () => {
  it.each([
    ['github.com/acme/app', 'github.com', 'acme/app'],
    ['https://user:secret@gitlab.com/a/b/c.git', 'gitlab.com', 'a/b/c.git'],
    ['git@github.com:acme/app.git', 'github.com', 'acme/app.git'],
    ['ci.example.com:8443/acme/app', 'ci.example.com:8443', 'acme/app'],
  ])('splits %s', (text, repositoryHost, repositoryPath) => {
    expect(splitRepository(text)).toEqual({ repositoryHost, repositoryPath });
  });
});

describe('svc timeline', () => {
  it('shows rows in a pipe, and the page of the API as JSON', async () => {
    const entry = {
      kind: 'ci_run',
      at: '2026-11-20T12:00:00Z',
      status: 'queued',
      blocked: true,
      reason: 'approval',
    };
    const page = { entries: [entry] };
    api.on('GET /environments/env_1/timeline', { body: page });
    const { out } = await svc(api, 'timeline --env env_1 --cursor 2026-11-20T13:00:00Z');
    for (const shown of ['queued', 'true', 'approval']) expect(out).toContain(shown);
    expect(api.asked.at(-1)?.target).toBe('/environments/env_1/timeline?cursor=2026-11-20T13%3A00%3A00Z');
    expect(JSON.parse((await svc(api, 'timeline --env env_1 --json')).out)).toEqual(page);
  });
});
