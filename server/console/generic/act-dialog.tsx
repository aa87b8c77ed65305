/** Asks for what a call needs, makes it, and shows a secret of its answer once. */
import { useSignal } from '@preact/signals';
import { announce } from '../announce.ts';
import { client, explain, isUnauthenticated } from '../api.ts';
import { Button } from '../button.tsx';
import { invalidate, taken, type Input } from '../cache.ts';
import { Modal } from '../modal.tsx';
import { Notice } from '../notice.tsx';
import type { CallSpec, FieldSpec } from '../spec.ts';
import { Fields, useTexts } from './form.tsx';
import { refusedFields, requestOf, textOf, type Problems, type Texts } from './form-values.ts';
import { Facts, isRow, valueAt } from './value.tsx';
import { Marked } from './marked.tsx';

export interface ActDialogProps {
  readonly call: CallSpec;
  /** Holds what the place and the item say already. */
  readonly given: Input;
  /** It is done to this: its name is typed before it is taken away for good. */
  readonly item?: unknown;
  readonly name?: string;
  readonly onClose: () => void;
  readonly onDone?: (answer: unknown) => void;
}

const TITLE = 'act-title';

export const fieldsOf = ({ fields = [] }: CallSpec, given: Input): readonly FieldSpec[] =>
  fields.filter(({ name }) => !(name in given));

/** Texts of the fields, as something that is there has them. */
const textsOf = (fields: readonly FieldSpec[], of: unknown) =>
  Object.fromEntries(fields.map((field) => [field.name, textOf(field, valueAt(of, field.name))]));

/** Keeps what was typed, what is wrong with it, and what the server answered. */
function useAct({ call, given, item, name = '', onClose, onDone }: ActDialogProps) {
  const fields = fieldsOf(call, given);
  const isChange = call.operation.method === 'PATCH' || call.operation.method === 'PUT';
  const known: Texts = isChange ? textsOf(fields, item) : {};
  const texts = useTexts(known);
  const problems = useSignal<Problems>({});
  const failure = useSignal<string | undefined>(undefined);
  const busy = useSignal(false);
  const typed = useSignal('');
  const answer = useSignal<unknown>(undefined);
  const isNamed = call.isDestructive === true && name !== '';
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (busy.value || (isNamed && typed.value !== name)) return;
    // A field that stands as it was is not sent again.
    const changed = Object.fromEntries(
      Object.entries(texts.value).filter(([key, text]) => text !== known[key]),
    );
    const needed = fields
      .filter(({ isRequired }) => isRequired === true)
      .map((field) => [field.name, texts.value[field.name] ?? ''] as const);
    const { input, problems: wrong } = requestOf(fields, { ...changed, ...Object.fromEntries(needed) });
    problems.value = wrong;
    failure.value = undefined;
    if (Object.keys(wrong).length > 0) return;
    busy.value = true;
    try {
      const done = await client.call<unknown>(call.operation, { ...taken(call, given), ...input });
      invalidate();
      if (call.answer !== undefined && isRow(done)) {
        answer.value = done;
        return;
      }
      onClose();
      announce(`${call.title}: done`);
      onDone?.(done);
    } catch (error) {
      if (isUnauthenticated(error)) return;
      problems.value = refusedFields(error, fields);
      failure.value = explain(error);
    } finally {
      busy.value = false;
    }
  };
  return { fields, texts, problems, failure, busy, typed, answer, isNamed, submit };
}

export function ActDialog(props: ActDialogProps) {
  const { call, given, name = '', onClose, onDone } = props;
  const { fields, texts, problems, failure, busy, typed, answer, isNamed, submit } = useAct(props);
  if (answer.value !== undefined)
    return (
      <Once
        call={call}
        answer={answer.value}
        onClose={() => {
          onClose();
          onDone?.(answer.value);
        }}
      />
    );
  return (
    <Modal class="confirm" labelledBy={TITLE} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <h2 id={TITLE}>{call.title}</h2>
        <p class="muted">
          <Marked text={call.help} />
        </p>
        <Fields fields={fields} texts={texts} problems={problems.value} id="act" given={given} />
        {isNamed && <NameField name={name} typed={typed} />}
        {failure.value !== undefined && (
          <Notice kind="bad" role="alert">
            {failure.value}
          </Notice>
        )}
        <div class="modal-foot">
          <Button text="Cancel" onClick={onClose} />
          <Button
            text={busy.value ? 'Waiting for the server…' : call.title}
            look={call.isDestructive === true ? 'danger' : 'primary'}
            submits
            data-first-focus={fields.length === 0 && !isNamed}
            waits={busy.value || (isNamed && typed.value !== name)}
          />
        </div>
      </form>
    </Modal>
  );
}

function NameField({ name, typed }: { readonly name: string; readonly typed: { value: string } }) {
  return (
    <div class="field">
      <label htmlFor="act-typed-name">
        Type <code>{name}</code> to go on
      </label>
      <input
        id="act-typed-name"
        autoComplete="off"
        spellcheck={false}
        value={typed.value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
      />
    </div>
  );
}

function Once({
  call,
  answer,
  onClose,
}: {
  readonly call: CallSpec;
  readonly answer: unknown;
  readonly onClose: () => void;
}) {
  return (
    // Escape and a click beside it do not take away what is shown once.
    <Modal class="confirm" labelledBy={TITLE} onClose={() => undefined}>
      <div class="once">
        <h2 id={TITLE}>{call.title}</h2>
        <Notice kind="warn">
          <strong>This is shown once.</strong> Store it now: nobody can read it again.
        </Notice>
        {isRow(answer) && <Facts of={answer} shown={call.answer ?? []} />}
        <div class="modal-foot">
          <Button text="I have stored it" look="primary" data-first-focus onClick={onClose} />
        </div>
      </div>
    </Modal>
  );
}
