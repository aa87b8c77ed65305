/** The same failure has one name wherever it happens, and the name holds nothing that is secret. */
import { describe, expect, it } from 'vitest';
import { normalForm } from './normal-form.ts';
import { failureSignature, OUTPUT_MAX } from './index.ts';

const of = async (output: string, more: { greenOutput?: string; kind?: string; phase?: string } = {}) => {
  const found = await failureSignature({ output, kind: 'build', ...more });
  if (found === undefined) throw new Error('the output has no signature');
  return found;
};

const failed = (
  path: string,
  commit: string,
  took: string,
) => `\u001b[32m10:12:${took}\u001b[0m cloning ${commit}
$ npm test
${path}/src/cart.ts:88:14 - warning: too long
Error: connect ECONNREFUSED 10.0.${took}.7:5432
    at connect (${path}/src/db.ts:${took}:3)
    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1607:16)
npm ERR! code ELIFECYCLE
npm ERR! A complete log of this run can be found in: ${path}/.npm/_logs/${commit}.log
`;

describe('failureSignature()', () => {
  it('is the same at another commit, path, time and machine', async () => {
    const one = await of(failed('/home/runner/work/shop', '4f1c2a9e', '11'));
    const other = await of(failed('/builds/acme/7', '99aa01bd', '42').replaceAll('\n', '\r\n'));
    expect(one.signature).toMatch(/^fs1_[\da-z]{26}$/);
    expect(other).toMatchObject({ signature: one.signature, template: one.template });
    expect(one.template).toBe('Error: connect ECONNREFUSED <ip>\nat connect (<path>.ts:<n>:<n>)');
  });

  it('is another one for another code, kind or phase', async () => {
    const names = [
      await of('src/a.ts(1,2): error TS2345: no'),
      await of('src/a.ts(1,2): error TS2322: no'),
      await of('src/a.ts(1,2): error TS2345: no', { kind: 'run' }),
      await of('src/a.ts(1,2): error TS2345: no', { phase: 'publishing' }),
    ];
    expect(new Set(names.map(({ signature }) => signature)).size).toBe(names.length);
  });

  it('does not change from one release to the next without another version', async () => {
    const { signature } = await of('error[E0308]: mismatched types');
    expect(signature).toBe('fs1_w3s1mgg5g3xnrp1zj3rjpp9fcm');
  });

  it('looks past what a green run prints too', async () => {
    const usual = 'ERROR: Could not load the cache, 17 ms\nERROR: Failed to warm up\n';
    const output = `${usual}the answer is wrong\n`.replace('17', '20');
    expect((await of(output, { greenOutput: usual })).template).toBe('the answer is wrong');
    expect((await of(output)).template).toContain('Could not load the cache, <duration>');
  });

  it('takes the message where there is no output, and has no name for nothing', async () => {
    const message = 'the runner was lost 5 times';
    expect(await failureSignature({ output: '\n \n', kind: 'run', message })).toMatchObject({
      template: 'the runner was lost <n> times',
    });
    expect(await failureSignature({ output: '', kind: 'run' })).toBeUndefined();
  });

  it('has no secret in its template, declared or not', async () => {
    const secrets = [
      'hunter2',
      'correct-horse',
      'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
      'AKIAIOSFODNN7EXAMPLE',
      'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
      'xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy',
      'alice@example.com',
      's3cr3t',
    ];
    const lines = [
      'Error: login failed for postgres://app:s3cr3t@db.example.com/shop',
      'Error: PASSWORD=hunter2 was refused',
      'error: bad option --db-password correct-horse',
      'Error: fetch failed: Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
      'Error: 401 for token ghp_16C7e42F292c6912E7710c838347Ae178B4a of alice@example.com',
      'Error: AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY may not',
      'Error: slack says no to xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy',
    ];
    for (const line of lines) {
      const { template } = await of(line);
      expect(template).not.toBe('');
      for (const secret of secrets) expect(template).not.toContain(secret);
    }
  });

  it('keeps its template short, and takes any text', async () => {
    const odd = ['\ud800', '\u0000', '\ue001', '👩‍👩‍👧 ', '☃'].map((sign) => `error: ${sign.repeat(900)}`);
    const { template } = await of(odd.join('\n'));
    expect(new TextEncoder().encode(template).length).toBeLessThanOrEqual(4_096);
    expect(template.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\ue000-\ue009]/u);
    expect(new TextDecoder().decode(new TextEncoder().encode(template))).toBe(template);
  });
});

describe('normalForm()', () => {
  it.each([
    ['GET https://a.example.com/x?y=1 gave 404 Not Found', 'GET <url> gave 404 Not Found'],
    ['exited with code 137 after 3m', 'exited with code 137 after <duration>'],
    [
      "'utf-8' codec can't decode byte 0xff in position 12",
      "'utf-8' codec can't decode byte <hex> in position <n>",
    ],
    ['at 2026-11-20T10:00:00.123Z on 10.0.0.7:5432', 'at <date> on <ip>'],
    ['open /var/lib/x/y.json: ENOENT', 'open <path>.json: ENOENT'],
    ['C:\\work\\shop\\a.cs(3,4): error CS1002: ; expected', '<path>.cs(<n>): error CS1002: ; expected'],
    ['lodash 4.17.21 wants node 20.1.0-rc.1', 'lodash <version> wants node <version>'],
    ["Cannot find module '@acme/tokens'", "Cannot find module '@acme/tokens'"],
    ['sha256:0f343b0931126a20f133d67c2b018a3b0f343b0931126a20f133d67c2b018a3b is gone', '<hash> is gone'],
    ['build bld_01kbq3v8m6e8g9w2x4y6z8a0bc of 12.5 MB', 'build <id> of <size>'],
    ['name="Alice B" id=7', 'name=<text> id=<n>'],
    ['NullPointerExceptionHandlerFactory threw', 'NullPointerExceptionHandlerFactory threw'],
  ])('makes of "%s" "%s"', (line, form) => {
    expect(normalForm(line)).toBe(form);
  });
});

/** Best of a few, unless one is good enough: what a busy machine adds to one of them is not the text's. */
async function bestMs(work: () => Promise<unknown>, enough = 0): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3 && best > enough; time += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}

describe('the time', () => {
  const repeated = (piece: string): string => piece.repeat(Math.ceil(OUTPUT_MAX / piece.length));
  const ordinary = Array.from(
    { length: 9_000 },
    (_, n) => `[${n % 60}] compiled packages/web/src/part-${n}/index.ts in ${n % 90} ms`,
  ).join('\n');

  it(
    'is a few times that of an ordinary output at most, whatever the text',
    { timeout: 60_000 },
    async () => {
      const limit = Math.max(100, 6 * (await bestMs(async () => of(ordinary, { greenOutput: ordinary }))));
      const pieces = [
        'a',
        '/',
        '=',
        '"',
        '- ',
        '1',
        '1.',
        'a.',
        'a@',
        'a-',
        ':1',
        '[',
        '#1 ',
        '\r',
        '\n',
        'a\n',
        '\u001b[',
        '\u001b[1;',
        '\u001b]',
        'E  ',
        'error: ',
        'error\n',
        'error: a\n',
        'Error',
        'a/',
        'token=',
        '--token ',
        'Bearer ',
        'x509 ',
        "thread '",
        'Aa',
        '● ',
        ' › ',
        '0x',
        'f',
        'npm ERR! ',
        'npm ERR!\n',
        '===',
        '=\n',
        '\t',
        ' ',
        ':1:1: ',
        'at ',
        '\nat ',
        '<',
        '\ue000',
      ];
      const costly: string[] = [];
      for (const piece of pieces) {
        const output = repeated(piece);
        for (const text of [output, output.replace(/(.{900})/g, '$1\nerror: ')]) {
          const work = async () => await failureSignature({ output: text, kind: 'build' });
          const ms = await bestMs(work, limit);
          if (ms > limit) costly.push(`${JSON.stringify(piece)}: ${ms} of ${limit} ms`);
        }
      }
      expect(costly).toEqual([]);
    },
  );
});
