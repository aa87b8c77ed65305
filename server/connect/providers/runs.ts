/**
 * Asks providers that are the repository's host as well for the status of a run: the answer has what their
 * webhooks would have reported.
 */
import { forgeOf } from './forges/forge.ts';
import type { HostedRepository } from './forges/forge.ts';
import type { ForgeApi } from './forges/call.ts';
import type { RunName } from './event.ts';
import type { CiProvider } from './words.ts';
import type { AskRun } from './ask-run.ts';
import { askRun as askBitbucket } from './bitbucket/run.ts';
import { askRun as askGithub } from './github/run.ts';
import { askRun as askGitlab } from './gitlab/run.ts';
import { within } from './known.ts';

const ASK: Readonly<Partial<Record<CiProvider, AskRun>>> = {
  bitbucket: askBitbucket,
  github: askGithub,
  gitlab: askGitlab,
};

/** Providers that can be asked. */
export const ASKABLE = Object.keys(ASK) as readonly CiProvider[];

/**
 * A number or a UUID; the same in SQL. A run that is known by a commit and a context has nothing that could
 * be asked for.
 */
export const ASKABLE_ID = '^([0-9]{1,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$';

/** Returns undefined when this connection's provider cannot be asked. */
export async function askRun(api: ForgeApi, connection: HostedRepository, run: RunName) {
  const ask = forgeOf(connection) === connection.provider ? ASK[connection.provider] : undefined;
  return ask === undefined ? undefined : within(await ask(api, run));
}
