import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useFakeApi, useFolder } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();
const folder = useFolder('policies');

const YAML = `
on: [deploy]
rules:
  - id: main
    message: build main
    require: build.branch == 'main'
`;
const document = {
  on: ['deploy'],
  rules: [{ id: 'main', message: 'build main', require: "build.branch == 'main'" }],
};
const file = (text: string): string => {
  const path = join(folder, 'policy.yaml');
  writeFileSync(path, text);
  return path;
};
const policy = { id: 'pol_1', name: 'main', enabled: false, revision: 1 };

describe('svc policies create and update-document', () => {
  it.each<[string, () => string, string | undefined]>([
    ['a file of YAML', () => file(YAML), undefined],
    ['a file of JSON', () => `@${file(JSON.stringify(document))}`, undefined],
    ['standard input', () => '-', YAML],
    ['the JSON itself', () => JSON.stringify(document), undefined],
  ])('take the document from %s', async (_what, source, input) => {
    api.on('POST /teams/team_1/policies', { status: 201, body: policy });
    api.on('PUT /teams/team_1/policies/pol_1/document', { body: policy });
    const flags = ['--team', 'team_1', '--document', source()];
    const options = input === undefined ? {} : { input };
    const created = await svc(api, ['policies', 'create', 'main', ...flags], options);
    expect([created.code, created.err]).toEqual([0, '']);
    expect(created.out).toContain('id\tpol_1\n');
    expect((await svc(api, ['policies', 'update-document', 'pol_1', ...flags], options)).code).toBe(0);
    expect(api.asked.map(({ body }) => body)).toEqual([{ name: 'main', document }, { document }]);
  });

  it('take the whole request from --data as well', async () => {
    api.on('POST /teams/team_1/policies', { status: 201, body: policy });
    const data = JSON.stringify({ name: 'main', document });
    expect((await svc(api, ['policies', 'create', '--team', 'team_1', '--data', data])).code).toBe(0);
    expect(api.asked[0]?.body).toEqual({ name: 'main', document });
  });

  it.each<[string, () => string, RegExp]>([
    ['a file that is not there', () => '/nonexistent/p', /cannot read the file of --document: ENOENT/],
    ['what is no YAML', () => file('on: [deploy'), /cannot be read: line 1, column \d+: not YAML/],
    ['a key that is given twice', () => file('on: [a]\non: [b]'), /the key "on" is given twice/],
    ['a list', () => file('- on'), /must be an object/],
    ['more than 64 KiB', () => file(`# ${'x'.repeat(65_536)}`), /more than 65536 bytes/],
    [
      'aliases that grow beyond all bounds',
      () =>
        file(
          `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}`,
        ),
      /more than 50000 nodes/,
    ],
  ])('refuse %s and ask nothing', async (_what, source, said) => {
    const line = ['policies', 'create', 'main', '--team', 'team_1', '--document', source()];
    await ends(api, line, { code: 2, says: said });
    expect(api.asked).toEqual([]);
  });

  it('need a document', async () => {
    await ends(api, 'policies create main --team team_1', { code: 2, says: 'needs --document' });
  });
});

const problem = 'rule "main": index 7 is out of bounds';
const gate = (n: number, before: string | undefined, now: string) => ({
  gateId: `pgt_${n}`,
  action: 'deploy',
  subject: `bld_${n}`,
  at: '2026-11-20T08:00:00Z',
  before,
  now,
  newlyDenied: before !== 'deny',
  failed: now === 'deny' ? ['main', 'other'] : [],
  ...(now === 'error' && { problem }),
});
const simulation = {
  replayed: 100,
  newlyDenied: 2,
  newlyAllowed: 0,
  unchanged: 98,
  errors: 0,
  truncated: false,
  results: [gate(1, 'allow', 'deny'), gate(2, undefined, 'deny'), gate(3, 'deny', 'deny')],
};
const route = 'POST /teams/team_1/policies/pol_1/simulate';
const simulate = 'policies simulate pol_1 --team team_1';

describe('svc policies simulate', () => {
  it('lists what a draft would newly refuse with its messages, and ends with 3', async () => {
    api.on(route, { body: simulation });
    const { code, out, err } = await svc(api, `${simulate} --limit 100 --document ${file(YAML)}`);
    expect([code, err]).toEqual([3, '']);
    expect(out.split('\n')).toEqual([
      '2 of 100 would newly be refused',
      'deploy bld_1 of 2026-11-20T08:00:00Z: build main; rule other',
      'deploy bld_2 of 2026-11-20T08:00:00Z: build main; rule other',
      '',
    ]);
    expect(api.asked.map(({ body }) => body)).toEqual([{ limit: 100, document }]);
  });

  it('takes the messages from the policy when there is no draft', async () => {
    api.on(route, { body: simulation });
    api.on('GET /teams/team_1/policies/pol_1', { body: { ...policy, document } });
    expect((await svc(api, simulate)).out).toContain('build main; rule other');
  });

  it('counts as refused what cannot be judged, and says why', async () => {
    const results = [gate(1, 'allow', 'error'), gate(2, undefined, 'deny'), gate(3, 'deny', 'error')];
    api.on(route, { body: { ...simulation, replayed: 3, errors: 2, results } });
    const { code, out, err } = await svc(api, `${simulate} --document ${file(YAML)}`);
    expect([code, err]).toEqual([
      3,
      `warning: 2 could not be judged, which refuses them under the mode "enforce": ${problem}\n`,
    ]);
    expect(out.split('\n')).toEqual([
      '2 of 3 would newly be refused, 1 of them because they could not be judged',
      `deploy bld_1 of 2026-11-20T08:00:00Z: could not be judged: ${problem}`,
      'deploy bld_2 of 2026-11-20T08:00:00Z: build main; rule other',
      '',
    ]);
  });

  it('ends with 0 when nothing would be, and warns of what was not judged', async () => {
    const results = [{ ...gate(1, 'allow', 'error'), newlyDenied: false }];
    const nothing = { ...simulation, newlyDenied: 0, newlyAllowed: 1, errors: 4, truncated: true, results };
    api.on(route, { body: nothing });
    const { code, out, err } = await svc(api, simulate);
    expect([code, out]).toEqual([0, '0 of 100 would newly be refused\n']);
    expect(err.split('\n')).toEqual([
      '1 would newly be allowed',
      `warning: 4 could not be judged, which refuses them under the mode "enforce": ${problem}`,
      'warning: time was up before all of them were judged',
      '',
    ]);
  });

  it('gives programs the answer, with the same exit code', async () => {
    api.on(route, { body: simulation });
    const { code, out } = await svc(api, `${simulate} --json`);
    expect([code, (JSON.parse(out) as typeof simulation).newlyDenied]).toEqual([3, 2]);
  });
});
