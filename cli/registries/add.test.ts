import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useFakeApi, useFolder } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();
const folder = useFolder('registries');

/** The requests that add; the others are about features. */
const sent = (): unknown[] => api.asked.filter(({ method }) => method === 'POST').map(({ body }) => body);

const line = 'registries add --team team_1 --host registry.example.com';
const made = { id: 'rgy_1', host: 'registry.example.com', default: true, hasCredentials: true };

describe('svc registries add', () => {
  it('adds a registry without credentials, and reads nothing', async () => {
    api.on('POST /teams/team_1/registries', { status: 201, body: { ...made, hasCredentials: false } });
    const { code, out } = await svc(api, `${line} --namespace acme --default --json`, { input: 'not read' });
    expect([code, JSON.parse(out)]).toEqual([0, { ...made, hasCredentials: false }]);
    expect(sent()).toEqual([{ host: 'registry.example.com', namespace: 'acme', default: true }]);
  });

  it('takes a password from standard input or a file, spaces and all, and shows it nowhere', async () => {
    const path = join(folder, 'token');
    writeFileSync(path, ' s3cr3t \n');
    for (const [flags, input] of [
      ['--password-stdin', ' s3cr3t \n'],
      [`--password-file ${path}`, ''],
    ] as const) {
      api.reset();
      api.on('POST /teams/team_1/registries', { status: 201, body: made });
      const { code, out, err } = await svc(api, `${line} --username ci ${flags}`, { input });
      expect([code, err]).toEqual([0, '']);
      expect(out).not.toContain('s3cr3t');
      expect(sent()).toEqual([{ host: 'registry.example.com', username: 'ci', password: ' s3cr3t ' }]);
    }
  });

  it('knows no password on the command line, and says what goes with what', async () => {
    for (const [flags, expected] of [
      ['--username ci --password s3cr3t', 'unknown flag --password'],
      ['--username ci', '--password-stdin or --password-file'],
      ['--password-stdin', 'needs --username'],
      ['--username ci --password-stdin --password-file x', 'two passwords'],
      ['--username ci --password-file /nowhere/at/all', 'cannot read the file of --password-file'],
    ] as const) {
      await ends(api, `${line} ${flags}`, { code: 2, says: expected });
    }
    expect(sent()).toEqual([]);
  });
});
