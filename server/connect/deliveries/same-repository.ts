/**
 * Checks that a delivery is about the repository of its connection: a secret of one repository must not write
 * into another.
 */
import type { Connection } from '../connections/index.ts';
import { repositoryKeyOfUrl, repositoryName, type RepositoryRef } from '../providers/index.ts';

type Ours = Pick<Connection, 'repositoryHost' | 'repositoryPath'>;

export type Verdict =
  /** The repository is known by the id `pin` from now on. */
  { readonly same: true; readonly pin?: string } | { readonly same: false; readonly detail: string };

/**
 * Compares names, without case; a host of that name may have others on the inside, so only the path counts. A
 * repository that is known by its id may have been renamed since. A provider that names none, and whose id
 * was never seen beside a name, is believed: it has the secret.
 */
export function sameRepository(ours: Ours, pinned: string | null, { id, name }: RepositoryRef): Verdict {
  const path = name === undefined ? undefined : pathOf(name);
  if (path !== undefined && path === pathOf(ours.repositoryPath))
    return id === undefined || id === pinned ? { same: true } : { same: true, pin: id };
  if (id !== undefined && id === pinned) return { same: true };
  if (path === undefined && (id === undefined || pinned === null))
    return id === undefined ? { same: true } : { same: true, pin: id };
  return {
    same: false,
    detail: `of the repository ${name ?? id ?? ''}, the connection's is ${ours.repositoryPath}`,
  };
}

/** Returns the path of a name, which is `owner/name` or an address. */
function pathOf(name: string): string | undefined {
  const isAddress = name.includes('://') || /^[^/\s]+@[^/\s]+:/.test(name);
  const key = isAddress ? repositoryKeyOfUrl(name) : repositoryName('host', name)?.key;
  return key?.slice(key.indexOf('/') + 1);
}
