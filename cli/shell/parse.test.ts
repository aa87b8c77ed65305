import { describe, expect, it } from 'vitest';
import { argFields, BLANK, describeFlag, type Spec } from './command.ts';
import { splitGlobals } from './globals.ts';
import { parseCommand, type Parsed } from './parse.ts';
import { missingError } from './missing.ts';

const spec: Spec = {
  ...BLANK,
  operation: { method: 'POST', path: '/things', body: '*' },
  group: 'things',
  words: ['make'],
  summary: 'Makes a thing',
  positionals: [describeFlag({ flag: 'name', type: 'string', required: true, description: '' })],
  flags: [
    describeFlag({ flag: 'team', name: 'teamId', type: 'string', required: true, description: '' }),
    describeFlag({
      flag: 'command',
      type: 'string',
      repeated: true,
      required: true,
      rest: true,
      description: '',
    }),
    describeFlag({ flag: 'code', type: 'integer', sensitive: true, description: '' }),
    describeFlag({ flag: 'cpus', name: 'limits.cpus', type: 'number', description: '' }),
    describeFlag({ flag: 'env', type: 'map', repeated: true, format: 'key=value', description: '' }),
    describeFlag({ flag: 'live', type: 'boolean', description: '' }),
    describeFlag({ flag: 'member', name: 'members', type: 'json', repeated: true, description: '' }),
    describeFlag({
      flag: 'memory-mb',
      name: 'limits.memoryMb',
      type: 'integer',
      short: 'm',
      description: '',
    }),
    describeFlag({ flag: 'note', type: 'string', description: '' }),
    describeFlag({ flag: 'since', type: 'timestamp', description: '' }),
    describeFlag({
      flag: 'state',
      type: 'enum',
      values: ['queued', 'running'],
      repeated: true,
      description: '',
    }),
  ],
  locals: argFields({ wait: { type: 'boolean', alias: 'w' } }).flags,
};

function parse(...words: string[]): Parsed {
  const { tokens, rest } = splitGlobals(words);
  return parseCommand(spec, tokens, rest);
}

describe('parseCommand()', () => {
  it('fills nested fields, lists, maps and own flags', () => {
    const line =
      'box --team t -m 64 --cpus=0.5 --state queued --state=running --env A=1=2 --env=B= --live --wait --since 2026-11-20T08:00:00Z';
    const parsed = parse(...line.split(' '), '--member', '{"email":"a@b"}', '--', 'sh', '-c', 'exit 1');
    expect(parsed.input).toEqual({
      name: 'box',
      teamId: 't',
      limits: { memoryMb: 64, cpus: 0.5 },
      state: ['queued', 'running'],
      env: { A: '1=2', B: '' },
      live: true,
      members: [{ email: 'a@b' }],
      since: '2026-11-20T08:00:00Z',
      command: ['sh', '-c', 'exit 1'],
    });
    expect(parsed.args).toEqual({ wait: true });
    expect(parsed.missing).toEqual([]);
  });

  it('takes a positional by its flag too', () => {
    expect(parse('--name', 'box').input).toEqual({ name: 'box' });
    expect(() => parse('--name', 'box', 'other')).toThrow('unexpected argument "other"');
  });

  it('takes --no-flag and --flag=false for switches', () => {
    expect(parse('--no-live').input).toEqual({ live: false });
    expect(parse('--live=false').input).toEqual({ live: false });
    expect(() => parse('--no-live=false')).toThrow('--no-live takes no value');
    expect(() => parse('--no-note')).toThrow('unknown flag --no-note');
  });

  it('takes the words behind -- as positionals where no field wants them', () => {
    const plain = { ...spec, flags: spec.flags.filter(({ rest }) => rest !== true) };
    expect(parseCommand(plain, [], ['-box']).input).toEqual({ name: '-box' });
  });

  it('takes a value that begins with a dash behind = alone', () => {
    expect(parse('--note=-x').input).toEqual({ note: '-x' });
    expect(parse('--note', '-').input).toEqual({ note: '-' });
    expect(() => parse('--note', '-x')).toThrow('--note needs a value');
  });

  it('never lets a flag swallow the word behind a global flag', () => {
    expect(() => parse('--note', '--json', 'box')).toThrow('--note needs a value');
    expect(() => parse('--note', '--profile', 'dev', 'box')).toThrow('--note needs a value');
  });

  it('sets a map key that is called like a part of every object', () => {
    const { env } = parse('--env', '__proto__=x').input as { env: object };
    expect(Object.entries(env)).toEqual([['__proto__', 'x']]);
  });

  it('keeps an empty value of an optional field, and refuses it for a required one', () => {
    expect(parse('--note=').input).toEqual({ note: '' });
    expect(() => parse('--team=')).toThrow('--team must not be empty');
    expect(() => parse('')).toThrow('<name> must not be empty');
  });

  it.each([
    [['--nope'], 'unknown flag --nope for "svc things make"'],
    [['-x'], 'unknown flag -x'],
    [['--team'], '--team needs a value: --team <team>'],
    [['--team', 'a', '--team', 'b'], '--team is given twice'],
    [['--live', '--no-live'], '--no-live is given twice'],
    [['--memory-mb', '1.5'], '--memory-mb must be a whole number, got "1.5"'],
    [['--memory-mb', '1e3'], 'must be a whole number'],
    [['--memory-mb', '0x10'], 'must be a whole number'],
    [['--memory-mb=99999999999999999999'], 'must be a whole number'],
    [['--cpus', 'many'], '--cpus must be a number, got "many"'],
    [['--cpus', 'Infinity'], '--cpus must be a number'],
    [['--state', 'qeued'], '--state must be one of queued, running, got "qeued"'],
    [['--env', 'A'], '--env must be key=value, got "A"'],
    [['--env', '=1'], '--env must be key=value'],
    [['--env', 'A=1', '--env', 'A=2'], '--env sets "A" twice'],
    [['--live=yes'], '--live must be true or false, got "yes"'],
    [['--since', 'yesterday'], '--since must be a time such as'],
    [['--member', '{'], '--member must be JSON'],
    [['box', 'more'], 'unexpected argument "more"'],
    [['--command', 'a', '--', 'b'], 'give --command once'],
  ])('refuses %j', (words, message) => expect(() => parse(...words)).toThrow(message));

  it('never shows a sensitive value', () => {
    expect(() => parse('--code', 'secret1')).toThrow(
      '--code must be a whole number, got something else (not shown)',
    );
  });

  it('suggests the flag that was meant', () => {
    const hints = catchHints(() => parse('--taem', 't'));
    expect(hints).toContain('did you mean --team?');
    expect(catchHints(() => parse('--jsn'))).toContain('did you mean --json?');
    expect(catchHints(() => parse('--state', 'runing'))).toContain('did you mean running?');
  });

  it('says where a command line goes', () => {
    expect(catchHints(() => parse('box', 'echo', 'hi'))[0]).toContain('-- echo hi');
  });

  it('names everything that is missing at once, but for a team, which may be in use', () => {
    expect(missingError(spec, parse('--live').missing).message).toBe(
      '"svc things make" needs <name>, -- <command>',
    );
  });
});

function catchHints(act: () => unknown): readonly string[] {
  try {
    act();
  } catch (error) {
    return (error as { hints: readonly string[] }).hints;
  }
  throw new Error('nothing was thrown');
}
