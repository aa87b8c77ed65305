/** Databases as the control plane says them, checked: a hostile server must not reach further by them. */
import { DATABASES, type DatabaseType } from '@svc/proto/hosting/databases.ts';
import { problemOfImage } from '@svc/proto/images/reference.ts';
import { BUILT_REPOSITORY } from '../executor/team-images.ts';
import type { WireHostDatabase } from '../control-plane/wire.ts';

const ID = /^[A-Za-z0-9_-]{1,40}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

export interface DatabasePlan {
  readonly id: string;
  readonly type: DatabaseType;
  /** It has its tag. */
  readonly image: string;
  /** Digest of the image that it was first made of; undefined: not known. */
  readonly digest?: string;
  /** It was deleted: its container goes. */
  readonly remove: boolean;
}

/** Returns what was said, or what is wrong with it. */
export function readDatabases(
  said: readonly WireHostDatabase[] = [],
): readonly DatabasePlan[] | { readonly problem: string } {
  const plans: DatabasePlan[] = [];
  for (const { id = '', type = '', image = '', digest = '', remove = false } of said) {
    const problem =
      (ID.test(id) ? undefined : 'its id is of no known form') ??
      (Object.hasOwn(DATABASES, type) ? undefined : `it is of no known type, ${JSON.stringify(type)}`) ??
      problemOfImage(image) ??
      (image.includes('@') || image.startsWith(BUILT_REPOSITORY)
        ? 'its image must have a tag, and be no image of a build'
        : undefined) ??
      (digest === '' || DIGEST.test(digest) ? undefined : 'its digest is of no known form') ??
      (plans.some((each) => each.id === id) ? 'it is said twice' : undefined);
    if (problem !== undefined) return { problem: `database ${JSON.stringify(id)}: ${problem}` };
    plans.push({
      id,
      type: type as DatabaseType,
      image,
      ...(digest !== '' && { digest }),
      remove,
    });
  }
  return plans;
}
