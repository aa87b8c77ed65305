/**
 * A grant of work: the id says what, the epoch says which grant of it. Together they name every file and
 * every message about it.
 */

export interface WorkRef {
  readonly id: string;
  readonly epoch: number;
}

export function refKey(ref: WorkRef): string {
  return `${ref.id}-${ref.epoch}`;
}

/**
 * Ids come from the control plane and become file names, so nothing is accepted that a path could be made of.
 */
const ID = /^[A-Za-z0-9][A-Za-z0-9_]{0,39}$/;

export function isWorkRef(ref: WorkRef): boolean {
  return ID.test(ref.id) && Number.isSafeInteger(ref.epoch) && ref.epoch >= 0;
}

/** The reverse of `refKey`, for names found in a folder. */
export function refOfKey(key: string): WorkRef | undefined {
  const [, id, epoch] = /^([A-Za-z0-9][A-Za-z0-9_]{0,39})-(\d{1,15})$/.exec(key) ?? [];
  return id === undefined ? undefined : { id, epoch: Number(epoch) };
}
