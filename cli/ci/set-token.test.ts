import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useFakeApi, useFolder } from '../testing/fake-api.ts';
import { svc } from '../testing/session.ts';

const api = await useFakeApi();
const folder = useFolder('set-token');

const sent = (): unknown[] => api.asked.filter(({ method }) => method === 'PUT').map(({ body }) => body);
const line = 'ci connections set-token cic_1';
const answer = { status: 200, body: { id: 'cic_1', hasToken: true } };

describe('svc ci connections set-token', () => {
  it('takes the token from standard input or a file, and shows it nowhere', async () => {
    const path = join(folder, 'token');
    writeFileSync(path, 'ghp_s3cr3t\n');
    for (const [flags, input] of [
      ['--token-stdin', 'ghp_s3cr3t\n'],
      [`--token-file ${path}`, ''],
    ] as const) {
      api.reset();
      api.on('PUT /ci/connections/cic_1/token', answer);
      const { code, out, err } = await svc(api, `${line} --forge gitlab ${flags} --json`, { input });
      expect([code, err, JSON.parse(out)]).toEqual([0, '', answer.body]);
      expect(sent()).toEqual([{ token: 'ghp_s3cr3t', forge: 'gitlab' }]);
    }
  });

  it('knows no token on the command line, and asks only on a terminal', async () => {
    for (const [flags, expected] of [
      ['--token ghp_s3cr3t', 'unknown flag --token'],
      ['', 'a token is needed: --token-stdin or --token-file'],
      ['--token-stdin --token-file x', 'two tokens'],
      ['--token-file /nowhere/at/all', 'cannot read the file of --token-file'],
      ['--token-stdin', 'the token is empty'],
    ] as const) {
      const { code, err } = await svc(api, `${line} ${flags}`.trim(), { input: '' });
      expect([code, err]).toEqual([2, expect.stringContaining(expected)]);
    }
    expect(sent()).toEqual([]);
  });
});
