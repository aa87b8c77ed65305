/**
 * An environment as the ledger has it, before and after a change. Never secrets: of credentials that they are
 * held, of an address what names the repository.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Changes } from '../../kit/resource/index.ts';
import { plainAddress } from './git-credentials.ts';
import type { Environment } from './rows.ts';
import type { environments } from './schema.ts';

type Recorded = Readonly<Record<string, unknown>>;

/** Names of the request's fields that the columns change. Credentials that are sent are always new. */
export function changedFields(
  before: Environment,
  { gitSealed, ...set }: Changes<typeof environments>,
): string[] {
  const columns = Object.keys(set) as Array<keyof typeof set & keyof Environment>;
  const fields: string[] = columns.filter((field) => !isDeepStrictEqual(before[field], set[field]));
  return gitSealed === undefined ? fields : [...fields, 'gitCredentials'];
}

/** Returns all that people set of the environment itself: HTTPS for its domains has entries of its own. */
export function recorded({
  id: _id,
  teamId: _teamId,
  projectId: _projectId,
  createdAt: _createdAt,
  updatedAt: _updatedAt,
  sslEnabledAt: _sslEnabledAt,
  gitSealed,
  hasGitCredentials: _has,
  repository,
  ...plain
}: Environment): Recorded {
  return {
    ...plain,
    repository: repository === null ? null : plainAddress(repository),
    gitCredentials: gitSealed === null ? 'none' : 'held',
  };
}

/** The named fields alone. */
export function recordedFields(environment: Environment, fields: readonly string[]): Recorded {
  return Object.fromEntries(
    Object.entries(recorded(environment)).filter(([field]) => fields.includes(field)),
  );
}
