/** Files that say what a template is, and those that somebody made to do harm. */
import { describe, expect, it } from 'vitest';
import { createDocumentReader } from './document-reader.ts';
import { readDocument, type ReadDocument } from './read-document.ts';

const read = (path: string, text: string | Uint8Array): ReadDocument =>
  readDocument({ path, bytes: typeof text === 'string' ? Buffer.from(text) : text });
const yaml = (text: string): ReadDocument => read('svc.template.yaml', text);
const json = (value: unknown): ReadDocument => read('svc.template.json', JSON.stringify(value));
const app = (value: unknown): ReadDocument => read('app.json', JSON.stringify(value));
const problemOf = (answer: ReadDocument): string => ('problem' in answer ? answer.problem : 'none');
const saidBy = (answer: ReadDocument) => {
  if ('problem' in answer) throw new Error(answer.problem);
  return answer.said;
};

describe('readDocument()', () => {
  it('says what the file names, and nothing of what it leaves out', () => {
    expect(saidBy(yaml('name: Shop\nbuildType: dockerfile\nvariables:\n'))).toEqual({
      name: 'Shop',
      buildType: 'dockerfile',
    });
    expect(saidBy(json({ variables: [], containerPort: 0 }))).toEqual({ variables: [], containerPort: 0 });
  });

  it('has variables required unless they say otherwise, and secret when they are generated', () => {
    const { variables } = saidBy(
      json({
        variables: [
          { name: 'A' },
          { name: 'B', required: false, default: '' },
          { name: 'C', generate: { bytes: 16, alphabet: 'alnum' } },
        ],
      }),
    );
    expect(variables).toEqual([
      { name: 'A', required: true, secret: false },
      { name: 'B', required: false, secret: false, default: '' },
      { name: 'C', required: true, secret: true, generate: { bytes: 16, alphabet: 'alnum' } },
    ]);
  });

  it.each([
    ['no YAML', 'name: [', /^svc.template.yaml: /],
    ['a list', '- name', /^svc.template.yaml holds no object/],
    ['nothing', '', /^svc.template.yaml holds no object/],
    ['a bomb', 'a: &a ["lol"]\nb: &b [*a,*a]\nname: *b\n', /alias/i],
    ['one reference', 'a: &a x\nname: *a\n', /alias/i],
    ['depth', `name: ${'['.repeat(5_000)}`, /^svc.template.yaml: it is nested too deeply/],
    ['nested objects', `name: ${'{a: '.repeat(200)}x${'}'.repeat(200)}`, /nested more than 64 deep/],
    ['a tag', 'name: !!js/function "x"\n', /tag/i],
    ['a name twice', 'name: a\nname: b\n', /unique/i],
    ['an unknown field', 'webhookUrl: http://169.254.169.254/\n', /webhookUrl/],
    [
      'an unknown field of a variable',
      'variables: [{ name: A, pattern: "(a+)+$" }]\n',
      /variables\[0\].*pattern/,
    ],
    ['the prototype', '__proto__: { name: x }\n', /__proto__/],
    ['another type', 'containerPort: many\n', /containerPort/],
    ['a port that is none', 'containerPort: 70000\n', /containerPort/],
    ['an absolute path', 'buildPath: /etc\n', /buildPath/],
    ['too many services', `services: [${'{ name: a, kind: storage },'.repeat(11)}]\n`, /services/],
    ['too many variables', `variables: [${'{ name: A },'.repeat(101)}]\n`, /variables/],
    ['a name that is none', 'variables: [{ name: "A B" }]\n', /variables\[0\].name/],
    ['little chance', 'variables: [{ name: A, generate: { bytes: 8, alphabet: hex } }]\n', /generate.bytes/],
    ['a character that nobody stores', 'name: "a\\0b"\n', /name/],
  ])('refuses %s, and says why', (_what, text, problem) => {
    expect(problemOf(yaml(text))).toMatch(problem);
    expect(problemOf(yaml(text)).length).toBeLessThan(400);
  });

  it('refuses what is no UTF-8, and no JSON', () => {
    expect(problemOf(read('svc.template.json', Buffer.from([0x7b, 0xff, 0x7d])))).toMatch(
      /^svc.template.json: /,
    );
    expect(problemOf(read('svc.template.json', '{"name": }'))).toMatch(/^svc.template.json: /);
  });

  it('reads text and objects of Heroku’s env, and asks for what is named like a secret', () => {
    const answer = app({
      env: {
        PLAIN: 'x',
        COUNT: { value: 3 },
        EMPTY: { value: '' },
        API_KEY: { value: 'leaked', description: 'Of the payments.' },
        SALT: { generator: 'secret' },
        'NOT A NAME': 'x',
      },
      scripts: { postdeploy: 'true' },
    });
    expect(answer).toMatchObject({
      said: {
        variables: [
          { name: 'PLAIN', default: 'x', required: true },
          { name: 'COUNT', default: '3' },
          { name: 'EMPTY' },
          { name: 'API_KEY', secret: true, description: 'Of the payments.' },
          { name: 'SALT', secret: true, generate: { bytes: 32, alphabet: 'hex' } },
        ],
      },
    });
    expect(JSON.stringify(answer)).not.toContain('leaked');
    expect('warnings' in answer ? answer.warnings : []).toEqual([
      'scripts is not taken over',
      'the value of API_KEY is left out: it is named like a secret, and asked for instead',
      'the variable NOT A NAME is left out: its name is none',
    ]);
  });

  it('takes one database of each kind from add-ons', () => {
    expect(
      app({
        addons: [
          { plan: 'heroku-postgresql:standard-0', options: { version: 16 } },
          'heroku-redis',
          'heroku-postgresqlx',
        ],
        env: { DATABASE_URL: '' },
      }),
    ).toEqual({
      said: {
        variables: [],
        services: [{ name: 'database', kind: 'database', databaseType: 'postgres', imageVersion: '16' }],
      },
      warnings: [
        'the add-on heroku-postgresqlx is not taken over',
        'a second database (redis) is not taken over',
        'the variable DATABASE_URL is left out: the database brings it',
      ],
    });
  });

  it.each([[{ expo: {}, scripts: {} }], [{ pages: [], env: {} }], [{ name: 'x' }]])(
    'takes no other program’s app.json: %j',
    (document) => {
      expect(problemOf(app(document))).toMatch(/is not Heroku's/);
    },
  );
});

describe('createDocumentReader()', () => {
  it('reads one after the other, and ends what takes too long', async () => {
    const reader = createDocumentReader();
    const named = (name: string) =>
      reader.read({ path: 'svc.template.yaml', bytes: Buffer.from(`name: ${name}`) });
    expect(await Promise.all([named('a'), named('['), named('b')])).toEqual([
      { said: { name: 'a' }, warnings: [] },
      { problem: expect.stringMatching(/^svc.template.yaml: /) },
      { said: { name: 'b' }, warnings: [] },
    ]);
    await reader.stop();
    const hasty = createDocumentReader({ fileMs: 1 });
    expect(await hasty.read({ path: 'app.json', bytes: Buffer.from('{}') })).toEqual({
      problem: 'app.json was not read: reading it took more than 0.001 s',
    });
  });
});
