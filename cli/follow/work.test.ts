/** Runs and builds are waited for and followed in one way: `create --wait`, `create --follow` and `wait`. */
import { describe, expect, it } from 'vitest';
import { run as runLine } from '../shell/run.ts';
import { apiError, logEvent, logStream, useFakeApi } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

interface Kind {
  readonly what: 'run' | 'build';
  readonly value: { readonly id: string };
  readonly made: string;
  readonly get: string;
  readonly create: (flags: string) => string[];
  /** Words behind `svc runs wait` and `svc runs cancel`. */
  readonly reference: string;
  /** A state in which it may stay. */
  readonly open: string;
  readonly output: readonly object[];
  /** It may end in these ways, each with its exit code and the words for it. */
  readonly ends: readonly (readonly [state: string, more: object, code: number, said: string])[];
}

const RUN: Kind = {
  what: 'run',
  value: { id: 'run_1' },
  made: 'POST /teams/team_1/sandbox-runs',
  get: 'GET /sandbox-runs/run_1',
  create: (flags) => [...`runs create --team team_1 ${flags} -- echo`.split(' '), 'a b', '--json'],
  reference: 'run_1',
  open: 'running',
  output: [logEvent(4, 'stdout', 'out\n'), logEvent(8, 'stderr', 'err\n')],
  ends: [
    ['succeeded', {}, 0, 'run run_1 succeeded after 1.2s'],
    ['failed', { exitCode: 3, reason: 'exit' }, 1, 'run run_1 failed (exit code 3) after 1.2s'],
    ['cancelled', { reason: 'cancelled' }, 1, 'run run_1 cancelled after 1.2s'],
    ['dead', { reason: 'lease_lost' }, 1, 'run run_1 dead (lease_lost) after 1.2s'],
  ],
};

const REJECTED = 'its deploy was rejected; the image stays';
const BUILD: Kind = {
  what: 'build',
  value: { id: 'bld_1', environmentId: 'env_1', phases: [] } as Kind['value'],
  made: 'POST /environments/env_1/builds',
  get: 'GET /environments/env_1/builds/bld_1',
  create: (flags) => `builds create env_1 ${flags}`.split(' '),
  reference: 'bld_1 --env env_1',
  open: 'awaiting_approval',
  output: [
    { position: '0-1-0-0', attempt: 1, state: 'running' },
    { position: '0-1-4-0', attempt: 1, stream: 'stdout', text: 'out\n' },
    { position: '0-1-8-0', attempt: 1, stream: 'stderr', text: 'err\n' },
    { position: '0-1-8-1', attempt: 1, state: 'succeeded' },
  ],
  ends: [
    ['succeeded', {}, 0, 'build bld_1 succeeded after 1.2s'],
    [
      'failed',
      { exitCode: 3, phase: 'building' },
      1,
      'build bld_1 failed while building: exit code 3 after 1.2s',
    ],
    ['cancelled', { message: REJECTED }, 1, `build bld_1 cancelled: ${REJECTED} after 1.2s`],
  ],
};

describe.each([RUN, BUILD])(
  'a $what',
  ({ what, value, made, get, create, reference, open, output, ends }) => {
    const goesOn = `the ${what} goes on; "svc ${what}s wait ${reference}" waits for it, "svc ${what}s cancel ${reference}" ends it\n`;
    /** It is submitted, and looks like this then, and like the last one from there on. */
    const looks = (...states: readonly object[]): void => {
      api.on(made, { status: 201, body: { ...value, state: 'queued' } });
      api.on(get, ...states.map((state) => ({ body: { ...value, ...state } })));
    };
    const ended = (state: string, more: object = {}) => ({ state, meteredMs: 1_200, ...more });

    it.each(ends)('with --wait ends as it does: %s', async (state, more, code) => {
      looks({ state: 'running' }, ended(state, more));
      const waited = await svc(api, create('--wait --json'));
      expect(waited.code).toBe(code);
      expect(JSON.parse(waited.out)).toMatchObject({ id: value.id, state });
    });

    it('with --wait ends with 8 when it is not over in time', async () => {
      looks({ state: open });
      const { code, out, err } = await svc(api, create('--wait --timeout 600ms --json'));
      expect([code, JSON.parse(out), err]).toEqual([8, expect.objectContaining({ state: open }), goesOn]);
    });

    it.each(ends)(
      'with --follow writes the output, then how it ended: %s',
      async (state, more, code, said) => {
        looks(ended(state, more));
        api.on(`${get}/logs`, logStream(output));
        expect(await svc(api, create('--follow'))).toMatchObject({
          code,
          out: 'out\n',
          err: `err\n${said}\n`,
        });
      },
    );

    it.each([false, true])(
      'with --follow --json keeps standard output for it, terminal %s',
      async (terminal) => {
        looks(ended('succeeded'));
        api.on(`${get}/logs`, logStream(output));
        const { code, out, err } = await svc(api, create('-f --json'), { terminal });
        expect([code, JSON.parse(out)]).toMatchObject([0, { state: 'succeeded' }]);
        expect(err).toContain('out\nerr\n');
        expect(terminal || err === 'out\nerr\n').toBe(true);
      },
    );

    it('with --follow ends with 8 at --timeout', async () => {
      looks({ state: 'running' });
      api.on(`${get}/logs`, logStream(output, 'open'));
      expect(await svc(api, create('--follow --timeout 500ms'))).toMatchObject({ code: 8, out: 'out\n' });
    });

    it('goes on at Ctrl-C, which says so', async () => {
      const io = fakeIo({ env: { SVC_BASE_URL: api.url } });
      looks();
      api.on(get, () => io.interrupt());
      expect([await runLine(create('--wait'), io), io.err()]).toEqual([130, goesOn]);
    });

    it.each(ends)('is printed by wait, which ends as it did: %s', async (state, more, code) => {
      looks({ state: 'queued' }, { state: 'publishing' }, ended(state, more));
      const waited = await svc(api, `${what}s wait ${reference} --json`);
      expect([waited.code, JSON.parse(waited.out)]).toMatchObject([code, { state }]);
    });

    it('is missed by wait with 5 where it is not there', async () => {
      api.on(get, apiError(404, 'not_found', `no such ${what}`));
      expect(await svc(api, `${what}s wait ${reference}`)).toMatchObject({ code: 5 });
    });
  },
);
