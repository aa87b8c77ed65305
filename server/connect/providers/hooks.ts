/** The webhook that this service has at a repository's host: how it is made, repaired and taken away. */
import { ForgeError } from './forges/call.ts';
import type { ForgeAnswer, ForgeApi } from './forges/call.ts';
import type { Scheme } from './words.ts';
import { idOf } from './read.ts';

export interface WantedHook {
  readonly url: string;
  readonly secret: string;
  readonly scheme: Scheme;
  /** The host's id of the one that was made before; null: none that is known. */
  readonly knownId: string | null;
}

/** Everything that the host refuses is thrown as a ForgeError. */
export interface Hooks {
  /** The right that the token must have, as the host calls it. */
  readonly needs: string;
  /**
   * Makes it, or repairs the one that is there: secret, events, and being switched on. Answers the host's id
   * of it.
   */
  put(api: ForgeApi, wanted: WantedHook): Promise<unknown>;
  remove(api: ForgeApi, id: string): Promise<void>;
}

export function listed(answer: ForgeAnswer, path: string, list: unknown = answer.json()): readonly unknown[] {
  if (Array.isArray(list)) return list;
  throw new ForgeError('answer_invalid', `GET ${path} was answered without a list of webhooks`);
}

interface Fields {
  readonly id: (hook: unknown) => unknown;
  readonly url: (hook: unknown) => unknown;
}

/**
 * Finds our webhook by the address that nobody else has, or by its id when the address of this service has
 * changed.
 */
export function found(
  all: readonly unknown[],
  { url, knownId }: WantedHook,
  fields: Fields,
): { readonly id: string; readonly hook: unknown } | undefined {
  const named = all.flatMap((hook) => {
    const id = idOf(fields.id(hook));
    return id === undefined ? [] : [{ id, hook }];
  });
  return (
    named.find(({ hook }) => fields.url(hook) === url) ??
    named.find(({ id, hook }) => id === knownId && isOurs(fields.url(hook), url))
  );
}

/** An id alone proves nothing: another repository may have taken the path. */
function isOurs(theirs: unknown, ours: string): boolean {
  const tail = (url: string) => url.slice(url.indexOf('/ci/webhooks/'));
  return typeof theirs === 'string' && theirs.includes('/ci/webhooks/') && tail(theirs) === tail(ours);
}
