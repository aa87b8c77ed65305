import { describe, expect, it } from 'vitest';
import { apiError, logEvent, logStream, useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();
const run = (id: string, more: object = {}) => ({ id, state: 'queued', ...more });
const LIST = ['runs', 'list', '--team', 'team_1'];

/** It answers two pages of runs. */
function pages(): void {
  api.on(
    'GET /teams/team_1/sandbox-runs',
    { body: { sandboxRuns: [run('run_1')], nextCursor: 'c1' } },
    { body: { sandboxRuns: [run('run_2')] } },
  );
}

describe('svc … --jq', () => {
  it('prints texts as they are and all else as JSON, one a line', async () => {
    api.on('GET /sandbox-runs/run_1', { body: run('run_1', { limits: { cpus: 1 } }) });
    const { code, out } = await svc(api, ['runs', 'get', 'run_1', '--jq', '.state, .limits, .reason']);
    expect([code, out]).toEqual([0, 'queued\n{"cpus":1}\nnull\n']);
  });

  it('gets a whole list, or with -o jsonl each item', async () => {
    pages();
    expect(await svc(api, [...LIST, '--all', '--jq', 'length, .[].id'])).toMatchObject({
      code: 0,
      out: '2\nrun_1\nrun_2\n',
    });
    pages();
    const each = await svc(api, [...LIST, '--all', '-o', 'jsonl', '--jq', '.id']);
    expect(each).toMatchObject({ code: 0, out: 'run_1\nrun_2\n' });
    api.on('GET /teams/team_1/sandbox-runs', { body: { sandboxRuns: [] } });
    expect((await svc(api, [...LIST, '--jq', 'length'])).out).toBe('0\n');
  });

  it('gets the fields of --json alone, and says that there are more', async () => {
    pages();
    const { out, err } = await svc(api, [...LIST, '--limit', '1', '--json=id', '--jq', '.[0] | keys[]']);
    expect(out).toBe('id\n');
    expect(err).toContain('1 shown, and there are more');
  });

  it('gets each event of a stream', async () => {
    api.on(
      'GET /sandbox-runs/run_1/logs',
      logStream([logEvent(4, 'stdout', 'one\n'), logEvent(8, 'stdout', 'two\n')]),
    );
    api.on('GET /sandbox-runs/run_1', { body: run('run_1', { state: 'succeeded' }) });
    const { out } = await svc(api, ['runs', 'logs', 'run_1', '--jq', '.text | rtrimstr("\\n")']);
    expect(out).toBe('one\ntwo\n');
  });

  it('works where the answer is any, and where a command prints something of its own', async () => {
    api.on('GET /anything', { body: { a: [1, 2] } });
    expect((await svc(api, ['api', 'GET', '/anything', '--jq', '.a | add'])).out).toBe('3\n');
    expect((await svc(api, ['version', '--jq', '.platform'])).out).toMatch(/^[a-z0-9]+-[a-z0-9]+\n$/);
    api.on('GET /text', (response) => void response.end('no JSON'));
    await ends(api, 'api GET /text --jq .', { code: 1, says: 'the answer is no JSON' });
  });

  it('refuses a wrong expression and a contradiction before it asks', async () => {
    await ends(api, 'runs get run_1 --jq .[', { code: 2, says: '--jq: syntax error' });
    await ends(api, 'runs get run_1 --jq .id -o table', { code: 2, says: '--jq and --output table' });
    await ends(api, 'runs get run_1 --jq', { code: 2, says: '--jq needs a value' });
    expect(api.asked).toEqual([]);
  });

  it('prints what came before an error, and ends with 1', async () => {
    api.on('GET /sandbox-runs/run_1', { body: run('run_1') });
    const { code, out, err } = await svc(api, ['runs', 'get', 'run_1', '--jq', '.id, .id.x']);
    expect([code, out]).toEqual([1, 'run_1\n']);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'jq' } });
  });

  it('leaves errors of the API as they are', async () => {
    api.on('GET /sandbox-runs/run_1', apiError(404, 'not_found', 'no such run'));
    const { code, out, err } = await svc(api, 'runs get run_1 --jq .id');
    expect([code, out]).toEqual([5, '']);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'not_found' } });
  });

  it('is harmless on a terminal, and exact in a pipe', async () => {
    const name = 'a\u001b]0;owned\u0007';
    api.on('GET /sandbox-runs/run_1', { body: run('run_1', { image: name }) });
    const line = ['runs', 'get', 'run_1', '--jq', '.image, {image}'];
    expect((await svc(api, line, { terminal: true })).out).toBe(
      'a\\x1b]0;owned\\x07\n{"image":"a\\u001b]0;owned\\u0007"}\n',
    );
    expect((await svc(api, line)).out).toContain(`${name}\n`);
  });
});
