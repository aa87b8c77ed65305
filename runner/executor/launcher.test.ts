import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { launchScript } from './launcher.ts';

describe('launchScript()', () => {
  function launch(env: Record<string, string>, command: readonly string[], workdir = '/'): string {
    const script = join(tempDir(), 'launch');
    writeFileSync(script, launchScript(env, workdir));
    return execFileSync('sh', [script, ...command], {
      env: { PATH: '/usr/bin:/bin' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  it('exports values byte for byte, whatever quotes and line breaks they hold', () => {
    const values = { A: `it's "$HOME" \`id\` \\ $(id)`, B: 'two\nlines\n', C: '', D: 'ü – 漢' };
    const printed = launch(values, ['printenv', '-0']);
    const received = Object.fromEntries(
      printed
        .split('\0')
        .filter((line) => line !== '')
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(received).toMatchObject(values);
  });

  it('passes names that no shell can export, and names that a shell owns', () => {
    const printed = launch({ 'dotted.name': 'one', 'npm-x': 'two', IFS: 'three', svc_path: 'four' }, [
      'printenv',
      'dotted.name',
      'npm-x',
      'IFS',
      'svc_path',
    ]);
    expect(printed).toBe('one\ntwo\nthree\nfour\n');
  });

  it('hands over arguments untouched', () => {
    expect(launch({}, ['printf', '%s|', 'a b', '', '*', '-n', '$x'])).toBe('a b||*|-n|$x|');
  });

  it('looks programs up in the PATH that the task was given', () => {
    expect(() => launch({ PATH: '/nowhere' }, ['printenv'])).toThrow(/printenv: command not found/);
    expect(launch({ PATH: '/nowhere' }, ['/bin/echo', 'x'])).toBe('x\n');
  });

  it('ends with 127 for what is not there and 126 for what cannot run', () => {
    const status = (command: string[], workdir = '/') => {
      try {
        launch({}, command, workdir);
      } catch (error) {
        return (error as { status: number }).status;
      }
      return 0;
    };
    expect(status(['no-such-program'])).toBe(127);
    expect(status(['/no/such'])).toBe(127);
    expect(status(['/etc'])).toBe(126);
    expect(status(['true'], '/proc/none')).toBe(126);
  });
});
