import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();
const KEYS = '/teams/team_1/agents/agt_1/keys';
const line = (words: readonly string[]) => ['agents', 'key', 'agt_1', '--team', 'team_1', ...words];

describe('svc agents key', () => {
  const issued = { key: { id: 'agk_1' }, secret: 'cpk_agent_secret', expiresAt: '2026-11-20T13:00:00Z' };

  it('runs the program with the key in its environment alone, ends as it ends, and revokes the key', async () => {
    api.on(`POST ${KEYS}`, { status: 201, body: issued });
    api.on(`DELETE ${KEYS}/agk_1`, { status: 204 });
    const script = `process.exit(process.env.SVC_API_KEY === '${issued.secret}' && process.env.SVC_BASE_URL === '${api.url}' && process.env.SVC_TOKEN === undefined ? 7 : 1)`;
    const { code, out, err } = await svc(api, line(['--', process.execPath, '-e', script]), {
      env: { SVC_TOKEN: 'sest_other' },
    });
    expect([code, out, err]).toEqual([7, '', '']);
    expect(api.asked.map(({ method }) => method)).toContain('DELETE');
  });

  it('prints the key where no program is named', async () => {
    api.on(`POST ${KEYS}`, { status: 201, body: issued });
    const { code, out } = await svc(api, line(['--expires-in-ms', '60000', '--json']));
    expect([code, JSON.parse(out)]).toEqual([0, issued]);
  });

  it('runs nothing when there is no key', async () => {
    const refusal = {
      code: 'agent_disabled',
      message: 'the agent is switched off',
      requestId: 'req_1',
      retryable: false,
    };
    api.on(`POST ${KEYS}`, { status: 409, body: { error: refusal } });
    const words = line(['--', process.execPath, '-e', 'process.exit(0)']);
    await ends(api, words, { code: 1, says: 'switched off' });
  });
});

describe('svc agents approvals approve', () => {
  const approval = {
    id: 'apr_1',
    agentId: 'agt_1',
    agentName: 'bot',
    action: 'build.create',
    resourceId: 'env_1',
    request: { environmentId: 'env_1', commit: 'c0ffee' },
    state: 'requested',
    createdAt: '2026-11-20T12:00:00Z',
  };
  const words = 'agents approvals approve apr_1 --team team_1';
  const granted = { approval, token: 'apt_secret', expiresAt: '2026-11-20T12:15:00Z' };
  const tokens = '/teams/team_1/agents/agt_1/approval-tokens';

  it('shows exactly what is asked for, asks, and prints the token', async () => {
    api.on('GET /teams/team_1/agent-approvals/apr_1', { body: approval });
    api.on(`POST ${tokens}`, { status: 201, body: granted });
    const { code, out, err, io } = await svc(api, words, { terminal: true, answers: ['y'] });
    expect([code, io.questions]).toEqual([0, ['Approve exactly this? [y/N] ']]);
    expect(err).toContain('build.create on env_1 by the agent bot');
    expect(err).toContain('c0ffee');
    expect(out).toContain('apt_secret');
    const [sent] = api.asked.filter(({ method }) => method === 'POST').map(({ body }) => body);
    expect(sent).toEqual({ action: 'build.create', resourceId: 'env_1', approvalId: 'apr_1' });
  });

  it('grants nothing without a yes', async () => {
    api.on('GET /teams/team_1/agent-approvals/apr_1', { body: approval });
    await ends(api, words, { code: 2, says: '--yes' });
    await ends(api, words, { code: 1, says: 'nothing was done', terminal: true, answers: ['n'] });
    expect(api.asked.filter(({ method }) => method === 'POST')).toEqual([]);
  });
});

it('an approval goes along with each call of svc, out of SVC_APPROVAL', async () => {
  api.on('POST /environments/env_1/builds', { status: 201, body: { id: 'bld_1', state: 'queued' } });
  await svc(api, 'builds create env_1 --json', { env: { SVC_APPROVAL: 'apt_given' } });
  const made = api.asked.find(({ method }) => method === 'POST');
  expect(made?.headers?.['svc-approval']).toBe('apt_given');
  await ends(api, 'builds create env_1', {
    code: 2,
    says: 'SVC_APPROVAL',
    env: { SVC_APPROVAL: 'two words' },
  });
});
