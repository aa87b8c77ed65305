import { describe, expect, it } from 'vitest';
import { useFakeApi } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();

const issued = { token: 'enr_1', expiresAt: '2026-11-20T12:15:00Z' };
const line = 'runners enroll --team team_1';

describe('svc runners enroll', () => {
  it('shows the token and the command to paste', async () => {
    api.on('POST /teams/team_1/runners/enroll-tokens', { status: 201, body: issued });
    const { code, out, err } = await svc(api, line, { terminal: true });
    expect(code).toBe(0);
    expect(out).toContain('token    enr_1\n');
    expect(out).toContain('expires  2026-11-20T12:15:00Z (in 15m)\n');
    expect(out).toContain(`\n  svc-runner enroll --url ${api.url} --token-file -\n`);
    expect(err).toContain('shown only this once');
  });

  it('gives programs the same in a pipe, and the object of the API as JSON', async () => {
    api.on('POST /teams/team_1/runners/enroll-tokens', { status: 201, body: issued });
    expect((await svc(api, line)).out).toBe(
      `token\tenr_1\nexpiresAt\t2026-11-20T12:15:00Z\ncommand\tsvc-runner enroll --url ${api.url} --token-file -\n`,
    );
    expect(JSON.parse((await svc(api, `${line} --json`)).out)).toEqual(issued);
  });

  it('never lets a token become part of a command line', async () => {
    api.on('POST /teams/team_1/runners/enroll-tokens', {
      status: 201,
      body: { ...issued, token: "x'; rm -rf /; '\n" },
    });
    const { out } = await svc(api, line, { terminal: true });
    expect(out).toContain(`--token-file -\n`);
    expect(out.match(/rm -rf/g)).toHaveLength(1);
  });
});
