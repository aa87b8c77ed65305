/** Plays what can go wrong between a caller and the API. */
import type { GivenMap } from './forms.ts';

export interface CallRecord {
  readonly method: string;
  readonly path: string;
  readonly params: GivenMap;
  readonly idempotencyKey: string | null;
  readonly requestId: string;
  /** It is absent where no answer was sent. */
  status?: number;
  /** It was the saved answer of an earlier request. */
  replayed: boolean;
}

/** `POST /v1/invoices` names that path, with any id or action behind it; absent: any. */
export type WhichCall = string | ((call: CallRecord) => boolean);

export type Fault = 'lost' | 'error' | 'error_after_effect' | 'reset';

export type ApiFaults = Omit<OwnFaults, 'next' | 'paused' | 'isDown'>;
export type OwnFaults = ReturnType<typeof createFaults>;

export function createFaults(wentDown: () => void) {
  const planned: { fault: Fault; left: number; which: WhichCall | undefined }[] = [];
  const pauses = new Set<{ which: WhichCall | undefined; over: Promise<void> }>();
  let down = false;
  const plan = (fault: Fault, left: number, which: WhichCall | undefined) =>
    void planned.push({ fault, left, which });
  return {
    /** The next `n` that fit do all they should, and the connection breaks before the answer. */
    loseAnswerAfterEffect: (n: number, which?: WhichCall) => plan('lost', n, which),
    /** The next `n` that fit are answered 500, which their key keeps. `effect`: they did all they should. */
    answer500: (n: number, { which, effect = false }: { which?: WhichCall; effect?: boolean } = {}) =>
      plan(effect ? 'error_after_effect' : 'error', n, which),
    /** The connection of the next `n` that fit breaks before anything is done. */
    reset: (n: number, which?: WhichCall) => plan('reset', n, which),
    /** Calls that fit wait, begun, until the function that it gives is called. */
    pause: (which?: WhichCall): (() => void) => {
      let end = () => {};
      const entry = { which, over: new Promise<void>((resolve) => (end = resolve)) };
      pauses.add(entry);
      return () => {
        pauses.delete(entry);
        end();
      };
    },
    /** No connection lives. */
    down: (): void => {
      down = true;
      wentDown();
    },
    up: (): void => {
      down = false;
    },
    /** Takes the next fault that fits. */
    next: (call: CallRecord): Fault | undefined => {
      const found = planned.find((each) => each.left > 0 && fits(each.which, call));
      if (found === undefined) return undefined;
      found.left -= 1;
      return found.fault;
    },
    paused: async (call: CallRecord): Promise<void> => {
      for (const { which, over } of pauses) if (fits(which, call)) await over;
    },
    isDown: () => down,
  };
}

function fits(which: WhichCall | undefined, call: CallRecord): boolean {
  if (which === undefined) return true;
  if (typeof which === 'function') return which(call);
  const name = `${call.method} ${call.path}`;
  return name === which || name.startsWith(`${which}/`);
}
