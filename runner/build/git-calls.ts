/**
 * This file has what the parts of a clone share: its calls, other tries, and what to do where a server gave
 * no access.
 */
import type { BuildContext } from './context.ts';
import { MachineFailed, withRetries } from './failure.ts';
import type { GitResult } from './git-process.ts';
import type { SourcePlan } from './plan.ts';

/** The calls of git for one clone; each has the settings above and ends when the clone is too large. */
export interface CloneCalls {
  /** Runs git without network, and throws BuildFailed when it fails. */
  local: (...args: string[]) => Promise<string>;
  /** Here git has no network. */
  attempt: (...args: string[]) => Promise<GitResult>;
  /** Here git has the network. */
  remote: (...args: string[]) => Promise<GitResult>;
}

/** Tries again while another try may help. */
export async function persistently(
  context: BuildContext,
  what: string,
  attempt: () => Promise<GitResult>,
): Promise<GitResult> {
  return await withRetries(async () => {
    const result = await attempt();
    if (result.code !== 0 && result.isTransient) throw new MachineFailed(`${what} failed: ${result.problem}`);
    return result;
  }, context);
}

const DENIED =
  /Authentication failed|could not read (?:Username|Password)|terminal prompts disabled|Permission denied|HTTP (?:401|403)|returned error: (?:401|403)|Authorization error/i;
const UNKNOWN_HOST = /Host key verification failed|No .* host key is known/i;

/** Says what to do where a server gave no access. It is empty where it failed for another reason. */
export function accessHint(source: SourcePlan, url: string, tail: string): string {
  const { token, sshKey } = source;
  const isUnknown = UNKNOWN_HOST.test(tail);
  if (!isUnknown && !DENIED.test(tail)) return '';
  if (token === undefined && sshKey === undefined && !isUnknown)
    return '; the repository asks for credentials and the build has none: register git credentials for this host';
  const isSsh = !/^https?:/i.test(url);
  if (isSsh && sshKey === undefined && token !== undefined)
    return `; ${url} is fetched by ssh, and the git credentials hold a token, which is for https alone: write the address as https://…, or register an ssh key with its known hosts`;
  if (!isSsh && token === undefined && sshKey !== undefined)
    return `; ${url} is fetched by https, and the git credentials hold an ssh key alone: write the address as ssh://…, or register a token`;
  if (isUnknown) return '; the host key is not in the known hosts of the git credentials';
  if (!isSsh && URL.canParse(url) && new URL(url).host !== source.host)
    return `; the git credentials are for ${source.host} alone, and ${url} is elsewhere`;
  return '; the git credentials were refused: check that they are valid and may read this repository';
}
