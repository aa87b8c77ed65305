import { execFileSync } from 'node:child_process';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import type { FakeIoOptions } from '../testing/fake-io.ts';
import { svc } from '../testing/session.ts';
import { bashScript } from './bash.ts';
import type { CompletionTree } from './completion-tree.ts';
import { fishScript } from './fish.ts';
import { completionTree } from './print.ts';
import { zshScript } from './zsh.ts';

const api = await useFakeApi();
let tree: CompletionTree;

beforeAll(async () => {
  tree = await completionTree();
});

/** Words that bash would offer for the last word of `line`; `svc` names the place, or what it was asked. */
function offered(line: string, place?: string): string[] {
  const words = line.split(/(?<!\\) /);
  const script = `${bashScript(tree)}
svc() { printf '%s\\n' "\${PLACE:-asked-$3-for-$4}"; }
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length - 1}
_svc
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...process.env, ...(place !== undefined && { PLACE: place }) };
  return execFileSync('bash', ['-u', '-c', script], { encoding: 'utf8', env }).split('\n').filter(Boolean);
}

describe('bash', () => {
  it('completes groups and commands', () => {
    expect(offered('svc run')).toEqual(['runner-groups', 'runners', 'runs']);
    expect(offered('svc runs c')).toEqual(['cancel', 'create']);
    expect(offered('svc teams members ')).toEqual(['delete', 'end-sessions', 'list', 'remove', 'set-role']);
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
    expect(offered('svc runs get run_1 --js')).toEqual(['--json']);
  });

  it('completes old verbs, and their flags', () => {
    expect(offered('svc runners rev')).toEqual(['revoke']);
    expect(offered('svc runners revoke --te')).toEqual(['--team']);
    expect(offered('svc completion na')).toEqual([]);
  });

  it('offers nothing for a free value or behind --', () => {
    expect(offered('svc runs list --cursor ')).toEqual([]);
    expect(offered('svc runs create --env ')).toEqual([]);
    expect(offered('svc runs create -- l')).toEqual([]);
  });

  it('asks for names of places, with what is typed already', () => {
    expect(offered('svc runs list --team ')).toEqual(['asked-teams-for-']);
    expect(offered('svc variables list ask')).toEqual(['asked-environments-for-ask']);
    expect(offered('svc teams get ')).toEqual(['asked-teams-for-']);
    expect(offered('svc use --project a')).toEqual(['asked-projects-for-a']);
    expect(offered('svc use ')).toEqual(['asked-places-for-']);
    // It has been named.
    expect(offered('svc teams get x ')).toEqual([]);
  });

  it('puts a name in as one word, and never runs it', () => {
    const hostile = 'first $(touch x) `touch y`; "team\'';
    const [word = ''] = offered('svc teams get ', hostile);
    expect(word).toBe('first\\ \\$\\(touch\\ x\\)\\ \\`touch\\ y\\`\\;\\ \\"team\\\'');
    expect(execFileSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8' })).toBe(hostile);
    expect(offered('svc teams get first\\ ', hostile)).toEqual([word]);
    expect(offered('svc teams get second', hostile)).toEqual([]);
  });
});

describe('svc completion names', () => {
  const names = async (line: string, options: FakeIoOptions = {}) => {
    const outcome = await svc(api, `completion names ${line}`, options);
    expect([outcome.code, outcome.err]).toEqual([0, '']);
    return outcome.out.split('\n').slice(0, -1);
  };
  beforeEach(() => {
    api.on('GET /teams', {
      body: {
        teams: [
          { id: 'team_1', name: 'first team' },
          { id: 'team_2', name: 'two\nlines' },
        ],
      },
    });
    api.on('GET /projects', { body: { projects: [{ id: 'prj_1', slug: 'web', name: 'Web' }] } });
    api.on('GET /projects/prj_1/environments', {
      body: { environments: [{ id: 'env_1', name: 'production' }] },
    });
  });

  it('lists teams, projects, and environments by their project', async () => {
    expect(await names('teams')).toEqual(['first team']);
    expect(await names('projects')).toEqual(['web']);
    expect(await names('environments')).toEqual(['web/']);
    expect(await names('environments web/pr')).toEqual(['web/production']);
    expect(await names('places')).toEqual(['first team', 'web']);
  });

  it('names environments of the project in use alone', async () => {
    expect(await names('environments', { env: { SVC_PROJECT: 'web' } })).toEqual(['production', 'web/']);
  });

  it('asks nobody without a credential, and says nothing of an error', async () => {
    expect(await names('teams', { env: { SVC_API_KEY: '' } })).toEqual([]);
    expect(api.asked).toEqual([]);
    expect(await names('environments nothing/')).toEqual([]);
    api.on('GET /teams', apiError(500, 'internal', 'broken'));
    expect(await names('teams')).toEqual([]);
    expect(await names('teams --profile nothing')).toEqual([]);
  });

  it('does not wait for an answer that does not come', async () => {
    api.on('GET /teams', () => undefined);
    expect(await names('teams')).toEqual([]);
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
