import { describe, expect, it } from 'vitest';
import { UsageError } from './errors.ts';
import { findCommand, findTopic } from './find.ts';
import { areas } from '../gen/index.ts';
import { listGroups, loadCommand, type GroupEntry } from './tree.ts';

const groups: readonly GroupEntry[] = [
  group('runs', ['list'], ['logs'], ['create']),
  group('teams', ['list'], ['members', 'list'], ['members', 'remove']),
  group('version', []),
];

function group(name: string, ...commands: string[][]): GroupEntry {
  return {
    group: name,
    summary: name,
    commands: commands.map((words) => ({ words, summary: words.join(' ') })),
  };
}

const tokens = (line: string) => line.split(' ').map((text, index) => ({ text, index }));
const find = (line: string) => findCommand(groups, tokens(line));

function failure(line: string): UsageError {
  try {
    find(line);
  } catch (error) {
    if (error instanceof UsageError) return error;
  }
  throw new Error(`${line} was not refused`);
}

describe('findCommand()', () => {
  it('takes the longest command that fits, and leaves the rest', () => {
    expect(find('runs list --team t').words).toEqual(['list']);
    expect(find('teams members remove user_1')).toMatchObject({
      words: ['members', 'remove'],
      tokens: [{ text: 'user_1', index: 3 }],
    });
    expect(find('teams list members').words).toEqual(['list']);
    expect(find('version').words).toEqual([]);
  });

  it('asks for the command of a group, and shows them', () => {
    expect(failure('runs')).toMatchObject({ message: 'which command of "svc runs"?', listing: 'svc runs' });
    expect(failure('teams members')).toMatchObject({ listing: 'svc teams members' });
  });

  it('suggests the nearest group or command', () => {
    expect(failure('run list').hints[0]).toBe('did you mean "svc runs"?');
    expect(failure('runs lst').hints[0]).toBe('did you mean "svc runs list"?');
    expect(failure('runs lsit run_1').hints[0]).toBe('did you mean "svc runs list"?');
    expect(failure('teams members lsit').hints[0]).toBe('did you mean "svc teams members list"?');
    expect(failure('xylophone').hints).toEqual(['run "svc --help" for all commands']);
  });

  it('says where the flags of a command belong', () => {
    expect(failure('--team t runs list').message).toBe('unknown flag --team before the command');
    expect(failure('--jsn runs list').hints[0]).toBe('did you mean --json?');
  });
});

describe('findTopic()', () => {
  it('takes as much of a command as there is', () => {
    expect(findTopic(groups, [])).toEqual({ words: [], isCommand: false });
    expect(findTopic(groups, tokens('teams members'))).toMatchObject({
      words: ['members'],
      isCommand: false,
    });
    expect(findTopic(groups, tokens('runs list'))).toMatchObject({ words: ['list'], isCommand: true });
  });
});

describe('listGroups()', () => {
  it('holds hand-written commands in the place of generated ones, each loadable', async () => {
    const all = listGroups();
    const names = all.flatMap(({ group: name, commands }) =>
      commands.map(({ words }) => [name, ...words].join(' ')),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(['auth login', 'runs wait', 'runs create', 'runners revoke', 'api', 'version']),
    );
    for (const { area } of all) expect([undefined, ...areas.map((known) => known.area)]).toContain(area);
    for (const { group: name, commands } of all) {
      for (const { words } of commands) {
        const { spec } = await loadCommand(name, words);
        expect([spec.group, ...spec.words]).toEqual([name, ...words]);
      }
    }
  });
});
