/** Values that are files, and secrets: what is sent, and that nothing else says it. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useBundledCli } from '../testing/bundle.ts';
import { useFakeApi, useFolder } from '../testing/fake-api.ts';
import type { FakeIoOptions } from '../testing/fake-io.ts';
import { ends, svc, type Outcome } from '../testing/session.ts';

const [api, cli] = await Promise.all([useFakeApi(), useBundledCli()]);
const folder = useFolder('sources');

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** Bodies of what was sent; the rest asks about features. */
const sent = (): unknown[] => api.asked.filter(({ method }) => method !== 'GET').map(({ body }) => body);

const PEM = '-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYI\n-----END PUBLIC KEY-----\n';
const KEY_LINE = ['trusted-keys', 'add', 'scanner', '--team', 'team_1'];

describe('a document', () => {
  const addKey = async (key: readonly string[], options: FakeIoOptions = {}): Promise<Outcome> => {
    api.on('POST /teams/team_1/trusted-keys', { status: 201, body: { id: 'tky_1' } });
    return await svc(api, [...KEY_LINE, ...key], options);
  };

  it('of text is the text itself, also one that begins with dashes, or @file, or standard input', async () => {
    const path = await file('scanner.pub', PEM);
    for (const [words, input] of [
      [['--public-key', PEM], ''],
      [[`--public-key=${PEM}`], ''],
      [['--public-key', `@${path}`], ''],
      [['--public-key', '-'], PEM],
    ] as const) {
      const { code, err } = await addKey(words, { input });
      expect([code, err]).toEqual([0, '']);
    }
    expect(sent()).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ publicKey: PEM })));
  });

  it.each<[string, () => Promise<string>, RegExp]>([
    [
      'a file that is not there',
      async () => '@/nonexistent/k.pub',
      /cannot read the file of --public-key: ENOENT, there is no such file: \/nonexistent\/k\.pub/,
    ],
    ['a folder', async () => `@${folder}`, /it is a folder/],
    [
      'a longer text than the contract takes',
      async () => `@${await file('long', 'x'.repeat(8_193))}`,
      /has 8193 characters, more than 8192 characters/,
    ],
    [
      'a file of any length',
      async () => `@${await file('huge', 'x'.repeat(9_000_000))}`,
      /has 9000000 bytes, more than 32768 bytes/,
    ],
    ['a device without an end', async () => '@/dev/zero', /has more than 32768 bytes/],
    [
      'what is no text',
      async () => `@${await file('binary', Buffer.from([0xff, 0xfe, 0]))}`,
      /is not UTF-8 text/,
    ],
    ['an empty file', async () => `@${await file('empty', '')}`, /is empty/],
  ])('of text refuses %s, and sends nothing', async (_what, source, said) => {
    const { code, err } = await addKey(['--public-key', await source()]);
    expect([code, err]).toEqual([2, expect.stringMatching(said)]);
    expect(sent()).toEqual([]);
  });

  it('of bytes is a path, @path or standard input, and goes out as base64', async () => {
    const bytes = Buffer.from([0x1f, 0x8b, 0, 255, 254]);
    const path = await file('sbom.gz', bytes);
    api.on('POST /teams/team_1/artifacts/art_1/sbom', { body: {} });
    const line = ['artifacts', 'upload-sbom', 'art_1', '--team', 'team_1', '--document'];
    for (const [value, input] of [
      [path, ''],
      [`@${path}`, ''],
      ['-', bytes],
    ] as const)
      expect((await svc(api, [...line, value], { input })).code, value.toString()).toBe(0);
    expect(sent()).toEqual(Array.from({ length: 3 }, () => ({ document: bytes.toString('base64') })));
    const { err } = await svc(api, [...line, await file('large', 'x'.repeat(700_001))]);
    expect(err).toContain('has 700001 bytes, more than 700000 bytes, which is the limit');
  });

  it('of JSON is a path, the JSON itself, or a list in a file for a flag that repeats', async () => {
    const bundle = '{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}';
    api.on('POST /teams/team_1/artifacts/art_1/attestations', { status: 201, body: {} });
    const upload = ['artifacts', 'upload', 'art_1', '--team', 'team_1', '--bundle'];
    for (const value of [bundle, await file('bundle.json', bundle)])
      expect((await svc(api, [...upload, value])).code).toBe(0);
    expect(sent()).toEqual([{ bundle }, { bundle }]);

    api.reset();
    const jobs = [
      { externalJobId: 'j1', name: 'build', status: 'success' },
      { externalJobId: 'j2', name: 'test', status: 'running' },
    ];
    api.on('POST /ci/runs/run_1/jobs', { body: { jobs: [] } });
    const path = await file('jobs.json', `\uFEFF${JSON.stringify(jobs, undefined, 8)}`);
    expect((await svc(api, ['ci', 'runs', 'report-jobs', 'run_1', '--jobs', `@${path}`])).err).toBe('');
    expect(sent()).toEqual([{ jobs }]);
  });

  it('of YAML may be given in the command line too', async () => {
    api.on('POST /teams/team_1/policies', { status: 201, body: { id: 'pol_1' } });
    const line = ['policies', 'create', 'main', '--team', 'team_1', '--document'];
    expect((await svc(api, [...line, '---\non: [deploy]\nrules: []\n'])).err).toBe('');
    expect(sent()).toEqual([{ name: 'main', document: { on: ['deploy'], rules: [] } }]);
  });

  it('is one alone of standard input', async () => {
    const words = [...KEY_LINE, '--public-key', '-', '--data', '-'];
    await ends(api, words, {
      code: 2,
      says: 'standard input can be read once, and is named twice: by --public-key and by --data',
      input: PEM,
    });
  });
});

const SECRET = 's3cr3t/+"Value';
const KEY = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----\n';

describe('a secret', () => {
  const variable = ['variables', 'set', 'KEY', '--env', 'env_1', '--secret'];
  const set = async (more: readonly string[], options: FakeIoOptions = {}): Promise<Outcome> => {
    api.on('POST /environments/env_1/variables', { body: { id: 'var_1', name: 'KEY' } });
    return await svc(api, [...variable, ...more], options);
  };

  it('comes from a file, from standard input, or is asked for without an echo', async () => {
    const path = await file('key.pem', KEY);
    for (const [words, input, value] of [
      [['--value-file', path], '', KEY],
      [['--value-stdin'], `${SECRET}\r\n`, SECRET],
      [['-'], `${SECRET}\n`, SECRET],
      [[KEY], '', KEY],
      [['--value=-x'], '', '-x'],
    ] as const) {
      api.reset();
      const { code, err } = await set(words, { input });
      expect([words, code, err, sent()]).toEqual([words, 0, '', [{ name: 'KEY', value, secret: true }]]);
    }
    for (const words of [[], ['-'], ['--value-stdin']]) {
      api.reset();
      const { code, io } = await set(words, { terminal: true, answers: [SECRET] });
      expect([code, io.questions, sent()]).toEqual([
        0,
        ['Value: (hidden)'],
        [{ name: 'KEY', value: SECRET, secret: true }],
      ]);
    }
  });

  it('is in no message about the command line', async () => {
    const secrets = [
      '--hunter2',
      '-hunter2',
      '-oHunter2',
      '-yhunter2',
      '--Hunter2=x',
      '--secret=hunter2',
      '--value-stdin=hunter2',
    ];
    for (const word of secrets) {
      const { code, out, err } = await set([word, 'hunter2', 'hunter2']);
      expect([word, code]).toEqual([word, 2]);
      expect(`${out}${err}`.toLowerCase(), word).not.toContain('hunter2');
    }
    const { err } = await set(['a', 'b']);
    expect(err).toContain('word 8 of the command line, which is not shown because it may be a secret');
    expect(err).toContain('a value comes from --value-stdin or --value-file');
    expect((await set(['--secert', 'x'])).err).toContain('did you mean --secret?');
    const data = ['variables', 'set', '--env', 'env_1', '--data', '{"value": hunter2}'];
    expect((await svc(api, data)).err).toMatch(/--data is not JSON$/m);
    expect(sent()).toEqual([]);
  });

  it.each([
    [
      'environments update env_1 --git-credentials-token',
      'PATCH /environments/env_1',
      { gitCredentials: { token: SECRET } },
    ],
    [
      'environments update env_1 --git-credentials-ssh-key',
      'PATCH /environments/env_1',
      { gitCredentials: { sshKey: SECRET } },
    ],
    [
      'account claim tok_1 --username ann --password',
      'POST /account/claim',
      { token: 'tok_1', username: 'ann', password: SECRET },
    ],
    [
      'runs create --team team_1 --data {"command":["x"]} --stdin',
      'POST /teams/team_1/sandbox-runs',
      { command: ['x'], stdin: SECRET },
    ],
  ])('has the same flags in every command: svc %s-file', async (line, route, body) => {
    const path = await file('secret', `${SECRET}\n`);
    const short = line.replace(/ --\S+$/, '');
    const flag = line.slice(short.length + 1);
    for (const [words, input] of [
      [[`${flag}-file`, path], ''],
      [[`${flag}-stdin`], `${SECRET}\n`],
      [[flag, '-'], `${SECRET}\n`],
    ] as const) {
      api.reset();
      api.on(route, { body: { id: 'x', token: 'ses_1' } });
      const { code, err } = await svc(api, [...short.split(' '), ...words], { input });
      expect([words, code, err.includes(SECRET), sent()]).toEqual([words, 0, false, [body]]);
    }
  });

  it('of several names is a file of lines, or a JSON object, beside what flags say', async () => {
    const lines = await file('.env', '# ours\nA=1=2\n\nB= "x" \n');
    const object = await file('env.json', JSON.stringify({ A: KEY }));
    api.on('PUT /environments/env_1/variables', { body: { variables: [] } });
    const many = ['variables', 'set-many', 'env_1'];
    await svc(api, [...many, '--variable-file', lines, '--variable', 'C=3']);
    await svc(api, [...many, '--variable-file', object]);
    await svc(api, [...many, '--variable', '-'], { input: 'A=1\r\nB=2\r\n' });
    expect(sent()).toEqual([
      { variables: { A: '1=2', B: ' "x" ', C: '3' } },
      { variables: { A: KEY } },
      { variables: { A: '1', B: '2' } },
    ]);
    for (const [input, said] of [
      [
        'A=1\nhunter2\n',
        'line 2 of standard input, which --variable-stdin names, is not key=value (not shown)',
      ],
      ['{"A": hunter2}', 'begins with a brace and is not JSON'],
      ['A=hunter2\nA=2\n', 'sets "A" twice'],
    ] as const) {
      const { err } = await ends(api, [...many, '--variable-stdin'], { code: 2, says: said, input });
      expect(err).not.toContain('hunter2');
    }
  });

  it('is needed from somewhere, and given once', async () => {
    for (const [words, said] of [
      [[], 'a value is needed: --value-stdin or --value-file, as there is no terminal to ask on'],
      [
        ['--value-stdin', '--value-file', 'x'],
        '--value-stdin and --value-file name two values, one is expected',
      ],
      [
        ['--value-file', '/nonexistent/hunter2'],
        /^svc: cannot read the file of --value-file: ENOENT, there is no such file$/m,
      ],
      [['--value-stdin'], 'the value is empty'],
      [['--value-file', '/dev/zero'], 'has more than 65536 bytes'],
    ] as const) {
      await ends(api, [...variable, ...words], { code: 2, says: said });
    }
    expect(sent()).toEqual([]);
  });

  it('does not show on the terminal where it is typed', async () => {
    api.on('POST /environments/env_1/variables', { body: { id: 'var_1', name: 'KEY' } });
    const { code, stdout } = await cli.terminal(variable, {
      env: { SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' },
      typed: [{ after: 'Value: ', keys: 'hunter2\r' }],
    });
    expect([code, sent()]).toEqual([0, [{ name: 'KEY', value: 'hunter2', secret: true }]]);
    expect(stdout).not.toContain('hunter2');
  });

  it('is read from a pipe of the shell', async () => {
    api.on('POST /environments/env_1/variables', { body: { id: 'var_1', name: 'KEY' } });
    const env = { SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' };
    const { code } = await cli.shell(`printf '%s\\n' hunter2 | svc ${variable.join(' ')} -`, { env });
    expect([code, sent()]).toEqual([0, [{ name: 'KEY', value: 'hunter2', secret: true }]]);
  });
});

it('help says where a value may come from', async () => {
  const key = await svc(api, 'trusted-keys add --help');
  expect(key.out.replaceAll(/\s+/g, ' ')).toContain('@file takes it from a file, - from standard input.');
  const policy = await svc(api, 'policies create --help');
  expect(policy.out).toContain('--document <file|->');
  const secret = await svc(api, 'variables set --help');
  expect(secret.out).toContain('--value-stdin');
  expect(secret.out).toMatch(/--value-file <path> +Read the value from a file\./);
});
