/**
 * A runner as a bundle for support shows it: what its team and its machine wrote freely is left out or cut
 * down to what is known to be harmless, because a bundle leaves the team, and people put secrets into notes
 * and labels.
 */
import type { RunnerRow } from './row.ts';

/**
 * A program's name and its version, as far as they look like that: `podman 4.3.1`, `Docker version 24.0.7`.
 * What follows is cut off.
 */
const VERSION = /^([A-Za-z][A-Za-z-]{0,19} ){0,2}v?\d{1,6}(\.\d{1,6}){1,3}/;

const versionOnly = (text: string): string => VERSION.exec(text)?.[0] ?? '';

/**
 * Takes the first word of a reason: `disk`, `engine`. The whole sentence is in the roster, for the team
 * itself.
 */
function reasonWord(text: string): string {
  const [word = ''] = text.toLowerCase().split(/[^a-z]/, 1);
  return REASONS.has(word) ? word : 'other';
}

const EXECUTORS: ReadonlySet<string> = new Set(['podman', 'docker', 'namespaces']);
const REASONS: ReadonlySet<string> = new Set([
  'backlog',
  'boot',
  'clock',
  'disk',
  'docker',
  'engine',
  'executor',
  'git',
  'isolation',
  'memory',
  'namespaces',
  'pack',
  'podman',
  'registry',
  'spool',
  'version',
  'workspace',
]);

export function redacted(row: RunnerRow): RunnerRow {
  const { diagnostics } = row;
  return {
    ...row,
    labels: {},
    pauseNote: null,
    version: versionOnly(row.version),
    executor: EXECUTORS.has(row.executor) ? row.executor : '',
    notReady: row.notReady.map(reasonWord),
    diagnostics: diagnostics && {
      ...diagnostics,
      containerCliVersion: versionOnly(diagnostics.containerCliVersion),
      deployCliVersion: versionOnly(diagnostics.deployCliVersion),
    },
  };
}
