import { describe, expect, it } from 'vitest';
import { groups } from '../gen/index.ts';
import { GLOBAL_FLAGS, formatOf, splitGlobals, wantsJson } from './globals.ts';

const words = (line: string): string[] => line.split(' ');
const texts = (line: string): string[] => splitGlobals(words(line)).tokens.map(({ text }) => text);

describe('splitGlobals()', () => {
  it('takes global flags out wherever they stand', () => {
    const { globals, tokens } = splitGlobals(
      words('--profile dev runs --json list --team t -y --timeout=5s'),
    );
    expect(globals).toMatchObject({ profile: 'dev', json: true, yes: true, timeoutMs: 5_000 });
    expect(tokens.map(({ text }) => text)).toEqual(['runs', 'list', '--team', 't']);
  });

  it('leaves everything behind -- alone', () => {
    const { globals, rest } = splitGlobals(words('runs create -- ls --json -y --help'));
    expect(globals).toMatchObject({ json: false, yes: false, help: false });
    expect(rest).toEqual(['ls', '--json', '-y', '--help']);
  });

  it('reads the fields of --json', () => {
    expect(splitGlobals(['--json=id,limits.cpus']).globals.fields).toEqual(['id', 'limits.cpus']);
    expect(splitGlobals(['--json']).globals.fields).toBeUndefined();
  });

  it.each([
    ['-o json', 'json'],
    ['-o=jsonl', 'jsonl'],
    ['-ojson', 'json'],
    ['--output tsv', 'tsv'],
    ['--output=table', 'table'],
  ])('reads %s', (line, format) => expect(splitGlobals(words(line)).globals.output).toBe(format));

  it('reads switches and their opposites', () => {
    expect(splitGlobals(['--no-color']).globals.color).toBe(false);
    expect(splitGlobals(['--color']).globals.color).toBe(true);
    expect(splitGlobals(['--yes=false']).globals.yes).toBe(false);
    expect(splitGlobals([]).globals.color).toBeUndefined();
  });

  it('does not take flags of commands', () => {
    expect(texts('runs list --team t --limit=3 --no-follow')).toEqual(
      words('runs list --team t --limit=3 --no-follow'),
    );
  });

  it.each([
    [['--profile'], '--profile needs a value'],
    [['--profile', '--json'], '--profile needs a value'],
    [['--base-url='], '--base-url needs a value'],
    [['--json=a,,b'], 'empty field'],
    [['--yes', '-y'], '-y is given twice'],
    [['--debug=maybe'], '--debug is a switch'],
    [['--timeout', 'soon'], '--timeout must be a duration'],
    [['--timeout=0s'], '--timeout must be a duration'],
  ])('refuses %j', (line, message) => expect(() => splitGlobals(line)).toThrow(message));
});

describe('formatOf()', () => {
  const format = (line: string) => formatOf(splitGlobals(words(line)).globals);

  it('is what --output names, JSON with --json, and open without both', () => {
    expect(format('-o tsv')).toBe('tsv');
    expect(format('--json')).toBe('json');
    expect(format('--json -o jsonl')).toBe('jsonl');
    expect(format('runs list')).toBeUndefined();
  });

  it.each([
    ['-o yaml', '--output must be one of table, tsv, json, jsonl, got "yaml"'],
    ['--json -o table', 'contradict'],
  ])('refuses %s', (line, message) => expect(() => format(line)).toThrow(message));
});

describe('wantsJson()', () => {
  it('knows every spelling, and stops at --', () => {
    for (const line of ['--json', 'x --json=a', '-o json', '-ojson', '--output=jsonl', '--output json'])
      expect(wantsJson(words(line)), line).toBe(true);
    for (const line of ['runs list', '-o table', 'runs create -- --json', '--jsonish'])
      expect(wantsJson(words(line)), line).toBe(false);
  });
});

it('shares no flag with any generated command', async () => {
  const taken = new Set(
    GLOBAL_FLAGS.flatMap(({ flag, short }) => [`--${flag}`, `--no-${flag}`, `-${short ?? flag}`]),
  );
  // Flags that the shell adds to generated commands.
  taken.add('--data');
  const specs = (await Promise.all(groups.map(({ load }) => load()))).flat();
  expect(specs.length).toBeGreaterThan(30);
  const clashes = specs.flatMap(({ group, words: path, flags, positionals }) =>
    [...flags, ...positionals]
      .filter(({ flag, short }) => taken.has(`--${flag}`) || (short !== undefined && taken.has(`-${short}`)))
      .map(({ flag }) => `${group} ${path.join(' ')} --${flag}`),
  );
  expect(clashes).toEqual([]);
});
