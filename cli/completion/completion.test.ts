import { execFileSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { bashScript } from './bash.ts';
import type { CompletionTree } from './completion-tree.ts';
import { fishScript } from './fish.ts';
import { completionTree } from './print.ts';
import { zshScript } from './zsh.ts';

let tree: CompletionTree;

beforeAll(async () => {
  tree = await completionTree();
});

/** Words that bash would offer for the last word of `line`. */
function offered(line: string): string[] {
  const words = line.split(' ');
  const script = `${bashScript(tree)}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_svc
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-u', '-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

describe('bash', () => {
  it('completes groups and commands', () => {
    expect(offered('svc run')).toEqual(['runner-groups', 'runners', 'runs']);
    expect(offered('svc runs c')).toEqual(['cancel', 'create']);
    expect(offered('svc teams members ')).toEqual(['delete', 'list', 'set-role']);
    expect(offered('svc teams m')).toEqual(['members']);
    expect(offered('svc auth ')).toEqual(['login', 'logout', 'status', 'token']);
  });

  it('completes the flags of the command, and global ones', () => {
    expect(offered('svc runs list --st')).toEqual(['--state']);
    expect(offered('svc runs list --')).toEqual(
      expect.arrayContaining(['--team', '--limit', '--json', '--profile']),
    );
    expect(offered('svc --pro')).toEqual(['--profile']);
    expect(offered('svc runs create --fo')).toEqual(['--follow']);
  });

  it('completes fixed choices', () => {
    expect(offered('svc runs list --state q')).toEqual(['queued']);
    expect(offered('svc regions list -o j')).toEqual(['json', 'jsonl']);
    expect(offered('svc completion ')).toEqual(['bash', 'zsh', 'fish']);
  });

  it('is not led astray by flags and their values in between', () => {
    expect(offered('svc --profile runs teams m')).toEqual(['members']);
    expect(offered('svc runs list --team t --st')).toEqual(['--state']);
    expect(offered('svc runs get run_1 --j')).toEqual(['--json']);
  });

  it('offers nothing for a free value or behind --', () => {
    expect(offered('svc runs list --team ')).toEqual([]);
    expect(offered('svc runs create -- l')).toEqual([]);
  });
});

describe('zsh and fish', () => {
  it('know every command and every flag', () => {
    const zsh = zshScript(tree);
    const fish = fishScript(tree);
    expect(zsh.startsWith('#compdef svc\n')).toBe(true);
    for (const { path, flags } of tree.commands) {
      expect(zsh).toContain(`'${path.join(' ')}'`);
      for (const { flag } of flags) {
        expect(zsh).toContain(`'--${flag}:`);
        expect(fish).toContain(`-n '__svc_at ${path.join(' ')}' -l ${flag} `);
      }
    }
  });

  it('quote what descriptions hold', () => {
    const odd: CompletionTree = {
      groups: [{ name: 'a', summary: "it's a \\ `b` $c" }],
      commands: [],
      globals: [],
    };
    expect(zshScript(odd)).toContain(`'a:it'\\''s a \\\\ \`b\` $c'`);
    expect(fishScript(odd)).toContain("'it\\'s a \\\\ `b` $c'");
  });

  it('leave out hidden flags', () => {
    expect(tree.commands.every(({ flags }) => flags.every(({ flag }) => flag !== ''))).toBe(true);
  });
});
