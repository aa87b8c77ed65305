/**
 * The environment of git and the files that it names. A token is passed by GIT_ASKPASS, a key by a file, both
 * in the build's private folder; neither is ever in an argument, an address or a log.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteShell } from '../executor/launcher.ts';
import type { BuildContext } from './context.ts';
import type { SourcePlan } from './plan.ts';
import { writeSecret } from './workspace.ts';

type Place = (path: string) => string;

export interface GitAccess {
  env: Record<string, string>;
  /** The files that `env` names, as paths of this machine. */
  files: string[];
}

/** @param placeOf Where git finds a file of this machine. */
export async function gitAccess(
  context: BuildContext,
  source: SourcePlan,
  placeOf: (path: string) => string,
): Promise<GitAccess> {
  const files: string[] = [];
  const place: Place = (path) => {
    files.push(path);
    return placeOf(path);
  };
  const askpass = await writeAskpass(context, source, place);
  const ssh = await sshCommand(context, source, place);
  const env = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_ASKPASS: askpass,
    SSH_ASKPASS: '/bin/false',
    GIT_ALLOW_PROTOCOL: source.transport === 'http' ? 'http:https:ssh' : 'https:ssh',
    GIT_SSH_COMMAND: ssh,
  };
  return { env, files };
}

/**
 * Answers the two questions of git and git-lfs, compared as whole texts, for the plan's own host and port
 * only: a submodule or a redirect elsewhere gets nothing.
 */
async function writeAskpass(context: BuildContext, source: SourcePlan, place: Place): Promise<string> {
  const { workspace } = context;
  const answers = [];
  if (source.token !== undefined) {
    const user = place(
      await writeSecret(workspace, { name: 'git-username', text: source.username ?? 'git' }),
    );
    const token = place(await writeSecret(workspace, { name: 'git-token', text: source.token }));
    // Submodules of a repository on ssh may use https of the same host.
    const scheme = source.transport === 'http' ? 'http' : 'https';
    // git asks in the first way, git-lfs in the second.
    for (const [open, close] of [
      ["'", "': "],
      ['"', '"'],
    ]) {
      const username = quoteShell(`Username for ${open}${scheme}://${source.host}${close}`);
      const password = [`Password for ${open}${scheme}://`, `@${source.host}${close}`]
        .map(quoteShell)
        .join('*');
      answers.push(
        `  ${username}) exec cat ${quoteShell(user)} ;;`,
        `  ${password}) exec cat ${quoteShell(token)} ;;`,
      );
    }
  }
  const script = ['#!/bin/sh', 'case "$1" in', ...answers, '  *) exit 1 ;;', 'esac', ''].join('\n');
  // It holds no secret, and git must execute it, which folders in memory often do not allow.
  const path = join(workspace.folder, 'askpass');
  await writeFile(path, script, { mode: 0o700 });
  return place(path);
}

async function sshCommand({ workspace }: BuildContext, source: SourcePlan, place: Place): Promise<string> {
  const known = { name: 'known-hosts', text: `${(source.knownHosts ?? '').trim()}\n` };
  const knownHosts = place(await writeSecret(workspace, known));
  const settings = [
    'BatchMode=yes',
    'StrictHostKeyChecking=yes',
    `UserKnownHostsFile=${knownHosts}`,
    'GlobalKnownHostsFile=/dev/null',
    'UpdateHostKeys=no',
    'IdentityAgent=none',
    'ForwardAgent=no',
    'PermitLocalCommand=no',
    'ConnectTimeout=30',
  ];
  const options = ['-F', '/dev/null', ...settings.flatMap((setting) => ['-o', setting])];
  if (source.sshKey !== undefined) {
    const key = place(await writeSecret(workspace, { name: 'ssh-key', text: `${source.sshKey.trim()}\n` }));
    options.push('-o', 'IdentitiesOnly=yes', '-i', key);
  }
  return ['ssh', ...options].map(quoteShell).join(' ');
}
