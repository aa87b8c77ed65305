import { describe, expect, it } from 'vitest';
import { UsageError } from './errors.ts';
import { commandAt, findNode, route } from './find.ts';
import { areas } from '../gen/index.ts';
import { commandTree, leavesOf, type Node } from './tree.ts';

const tree = node('svc', {
  runs: node('svc runs', { create: leaf('runs create'), list: leaf('runs list'), logs: leaf('runs logs') }),
  teams: node('svc teams', {
    list: leaf('teams list'),
    members: node('svc teams members', {
      list: leaf('teams members list'),
      remove: leaf('teams members remove'),
    }),
  }),
  timeline: { ...leaf('timeline'), subCommands: { watch: leaf('timeline watch') } },
  version: leaf('version'),
});

function node(name: string, subCommands: Node['subCommands'] = {}): Node {
  return { meta: { name, description: '' }, subCommands };
}

function leaf(line: string): Node {
  return { ...node(`svc ${line}`), load: () => Promise.reject(new Error('not loaded here')) };
}

const tokens = (line: string) =>
  line
    .split(' ')
    .filter((text) => text !== '')
    .map((text, index) => ({ text, index }));
const find = (line: string) => route(tree, tokens(line), async (found) => commandAt(found));
const nameOf = async (line: string) => (await find(line)).node.meta.name;

async function failure(line: string): Promise<UsageError> {
  try {
    await find(line);
  } catch (error) {
    if (error instanceof UsageError) return error;
  }
  throw new Error(`${line} was not refused`);
}

describe('route()', () => {
  it('takes the longest command that fits, and leaves the rest', async () => {
    expect(await nameOf('runs list --team t')).toBe('svc runs list');
    expect(await find('teams members remove user_1')).toMatchObject({
      node: { meta: { name: 'svc teams members remove' } },
      tokens: [{ text: 'user_1', index: 3 }],
    });
    expect(await nameOf('teams list members')).toBe('svc teams list');
    expect(await nameOf('version')).toBe('svc version');
    expect(await nameOf('timeline watch')).toBe('svc timeline watch');
    expect(await find('timeline wat')).toMatchObject({
      node: { meta: { name: 'svc timeline' } },
      tokens: [{ text: 'wat', index: 1 }],
    });
  });

  it('asks for the command of a group, and shows them', async () => {
    expect(await failure('runs')).toMatchObject({
      message: 'which command of "svc runs"?',
      listing: 'svc runs',
    });
    expect(await failure('teams members')).toMatchObject({ listing: 'svc teams members' });
    expect(await failure('')).toMatchObject({ message: 'which command?', listing: 'svc' });
    expect((await failure('constructor')).message).toBe('unknown command "svc constructor"');
  });

  it('suggests the nearest group or command', async () => {
    expect((await failure('run list')).hints[0]).toBe('did you mean "svc runs"?');
    expect((await failure('runs lst')).hints[0]).toBe('did you mean "svc runs list"?');
    expect((await failure('runs lsit run_1')).hints[0]).toBe('did you mean "svc runs list"?');
    expect((await failure('teams members lsit')).hints[0]).toBe('did you mean "svc teams members list"?');
    expect((await failure('xylophone')).hints).toEqual(['run "svc --help" for all commands']);
  });

  it('says where the flags of a command belong', async () => {
    expect((await failure('--team t runs list')).message).toBe('unknown flag --team before the command');
    expect((await failure('--jsn runs list')).hints[0]).toBe('did you mean --json?');
  });
});

describe('findNode()', () => {
  it('takes as much of a command as there is', async () => {
    expect(await findNode(tree, [])).toEqual({ node: tree, tokens: [] });
    expect((await findNode(tree, tokens('teams members'))).node.load).toBeUndefined();
    expect((await findNode(tree, tokens('runs list'))).node.load).toBeDefined();
  });
});

describe('commandTree()', () => {
  it('holds hand-written commands in the place of generated ones, each loadable', async () => {
    const all = commandTree();
    const leaves = leavesOf(all);
    const names = leaves.map(({ meta }) => meta.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining([
        'svc auth login',
        'svc runs wait',
        'svc runners delete',
        'svc api',
        'svc version',
      ]),
    );
    for (const { area } of Object.values(all.subCommands))
      expect([undefined, ...areas.map((known) => known.area)]).toContain(area);
    for (const { meta, load } of leaves) {
      const { spec } = await load();
      expect(['svc', spec.group, ...spec.words].join(' ')).toBe(meta.name);
      expect(spec.description).not.toBe('');
    }
  });
});
