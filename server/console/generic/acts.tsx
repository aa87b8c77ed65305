/** The buttons of what can be done, each of which opens its dialog. */
import { useSignal } from '@preact/signals';
import { Button } from '../button.tsx';
import type { Input } from '../cache.ts';
import { navigate } from '../router.ts';
import { Lacking } from '../parts/role.tsx';
import { isOff, mayIn, session } from '../session.ts';
import type { CallSpec, Entry } from '../spec.ts';
import { ActDialog } from './act-dialog.tsx';
import { idOf, itemHref } from './addresses.ts';
import { isRow } from './value.tsx';

interface ActsProps {
  readonly calls: readonly CallSpec[];
  readonly given: Input;
  readonly entry?: Entry;
  /** Address of the collection, where what is made is shown next. */
  readonly href?: string;
  readonly item?: unknown;
  readonly name?: string;
  /** It is gone afterwards. */
  readonly onGone?: () => void;
}

function isOffered({ feature }: CallSpec): boolean {
  const now = session.value;
  return feature === undefined || now.state !== 'in' || !isOff(now, feature);
}

/** What was made is the answer itself, or stands in it beside a secret. */
function madeOf(entry: Entry, answer: unknown): unknown {
  if (!isRow(answer) || idOf(entry, answer) !== undefined) return answer;
  return Object.values(answer).find((each) => idOf(entry, each) !== undefined);
}

export function Acts({ calls, given, entry, href = '', item, name, onGone }: ActsProps) {
  const open = useSignal<CallSpec | undefined>(undefined);
  const acts = calls.filter((call) => call.kind === 'act' && isOffered(call));
  const may = ({ role }: CallSpec): boolean => mayIn(given['teamId'], role);
  const done = (call: CallSpec, answer: unknown): void => {
    if (call.operation.method === 'DELETE' && call.isDestructive === true) onGone?.();
    const next =
      entry !== undefined && item === undefined && call.operation.method === 'POST'
        ? itemHref(entry, madeOf(entry, answer), href)
        : undefined;
    if (next !== undefined) navigate(next);
  };
  return (
    <div class="bar-buttons">
      {acts.filter(may).map((call, index) => (
        <Button
          key={call.id}
          text={call.title}
          look={
            call.isDestructive === true
              ? 'danger small'
              : item === undefined && index === 0
                ? 'primary'
                : 'small'
          }
          onClick={() => (open.value = call)}
        />
      ))}
      <Lacking acts={acts.filter((call) => !may(call))} />
      {open.value !== undefined && (
        <ActDialog
          key={open.value.id}
          call={open.value}
          given={given}
          item={item}
          {...(name !== undefined && { name })}
          onClose={() => (open.value = undefined)}
          onDone={(
            (call) => (answer: unknown) =>
              done(call, answer)
          )(open.value)}
        />
      )}
    </div>
  );
}
