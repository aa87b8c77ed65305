/** Why work waits, told to whoever waits for it. */
import { describe, expect, it } from 'vitest';
import { logStream, useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const RUN = { id: 'run_1' };
const BUILD = { id: 'bld_1', environmentId: 'env_1', phases: [] };
const KINDS = [
  {
    what: 'run run_1',
    made: 'POST /teams/team_1/sandbox-runs',
    get: 'GET /sandbox-runs/run_1',
    create: (flags: string) => `runs create --team team_1 ${flags} -- true`,
    watches: 'runs create --team team_1 --wait --json -- true',
    value: RUN,
  },
  {
    what: 'build bld_1',
    made: 'POST /environments/env_1/builds',
    get: 'GET /environments/env_1/builds/bld_1',
    create: (flags: string) => `builds create env_1 ${flags}`,
    watches: 'builds wait bld_1 --env env_1 --json',
    value: BUILD,
  },
];
const waits = (reason: string) => ({
  state: 'queued',
  waiting: { reason, detail: `about ${reason}\u001b[2J; do this` },
});
const said = (what: string, reason: string) =>
  `${what} waits: about ${reason}\\x1b[2J; do this (${reason})\n`;

describe.each(KINDS)('the wait of $what', ({ what, made, get, create, watches, value }) => {
  const answers = (...states: object[]): void => {
    api.on(made, { status: 201, body: { ...value, state: 'queued' } });
    api.on(get, ...states.map((state) => ({ body: { ...value, ...state } })));
  };

  it('is explained by --wait and by wait, once for each reason', async () => {
    // Looks are further and further apart: the sixth comes after more than two seconds.
    answers(...Array.from({ length: 6 }, () => waits('pool_off')), waits('no_runner'), {
      state: 'succeeded',
    });
    const { code, out, err } = await svc(api, watches);
    expect(code).toBe(0);
    expect(JSON.parse(out)).not.toHaveProperty('waiting');
    expect(err).toBe(said(what, 'pool_off') + said(what, 'no_runner'));
  }, 30_000);

  it('is explained by --follow while no output comes', async () => {
    answers(waits('pool_off'));
    api.on(`${get}/logs`, logStream([], 'open'));
    const { code, out, err } = await svc(api, create('--follow --json --timeout 5s'));
    expect(code).toBe(8);
    expect(JSON.parse(out)).toMatchObject(value);
    expect(err.split(said(what, 'pool_off'))).toHaveLength(2);
  }, 30_000);

  it('is not explained when it is short', async () => {
    answers(waits('pool_off'), { state: 'succeeded' });
    expect(await svc(api, create('--wait --json'))).toMatchObject({ code: 0, err: '' });
  });
});
