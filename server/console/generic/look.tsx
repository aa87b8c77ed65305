/** Any call that only answers: it is asked at once, or when what it needs is given. */
import { useSignal } from '@preact/signals';
import { client, explain } from '../api.ts';
import { Button } from '../button.tsx';
import { taken, useAnswer, type Input } from '../cache.ts';
import { Problem } from '../notice.tsx';
import { Unread } from '../reading.tsx';
import { fileName, saveFile } from '../save-file.ts';
import type { CallSpec } from '../spec.ts';
import { StaleNotice } from '../stale-notice.tsx';
import { fieldsOf } from './act-dialog.tsx';
import { Fields, useTexts } from './form.tsx';
import { requestOf, type Problems } from './form-values.ts';
import { Facts, isRow, Value } from './value.tsx';
import { Marked } from './marked.tsx';

interface LookProps {
  readonly call: CallSpec;
  readonly given: Input;
}

export function Look({ call, given }: LookProps) {
  const fields = fieldsOf(call, given);
  const texts = useTexts();
  const problems = useSignal<Problems>({});
  const asked = useSignal<Input | undefined>(
    fields.some(({ isRequired }) => isRequired === true) ? undefined : {},
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    const { input, problems: wrong } = requestOf(fields, texts.value);
    problems.value = wrong;
    if (Object.keys(wrong).length === 0) asked.value = input;
  };
  return (
    <section class="look">
      <p class="muted">
        <Marked text={call.help} />
      </p>
      {fields.length > 0 && (
        <form class="look-form" onSubmit={submit} noValidate>
          <Fields
            fields={fields}
            texts={texts}
            problems={problems.value}
            id={call.id.replace('.', '-')}
            given={given}
          />
          <Button text={call.kind === 'download' ? 'Choose' : 'Show'} submits />
        </form>
      )}
      {asked.value !== undefined &&
        (call.kind === 'download' ? (
          <Download
            key={JSON.stringify(asked.value)}
            call={call}
            input={{ ...taken(call, given), ...asked.value }}
          />
        ) : (
          <Answer
            key={JSON.stringify(asked.value)}
            call={call}
            input={{ ...taken(call, given), ...asked.value }}
          />
        ))}
    </section>
  );
}

function Answer({ call, input }: { readonly call: CallSpec; readonly input: Input }) {
  const read = useAnswer<unknown>(call.operation, input);
  const answer = read.data.value;
  if (answer === undefined) return <Unread of={read} what={call.title} />;
  return (
    <>
      <StaleNotice of={read} />
      {isRow(answer) ? (
        <Facts of={answer} shown={call.answer ?? []} />
      ) : (
        <Value of={answer} spec={undefined} />
      )}
    </>
  );
}

function Download({ call, input }: { readonly call: CallSpec; readonly input: Input }) {
  const problem = useSignal<string | undefined>(undefined);
  const busy = useSignal(false);
  const save = async (): Promise<void> => {
    busy.value = true;
    problem.value = undefined;
    try {
      const bytes = new Uint8Array(await client.bytes({ ...call.operation, raw: true }, input));
      saveFile(fileName(call.operation.path, bytes), [bytes]);
    } catch (error) {
      problem.value = explain(error);
    }
    busy.value = false;
  };
  return (
    <>
      <Button
        text={busy.value ? 'Waiting for the server…' : `Download ${call.title.toLowerCase()}`}
        waits={busy.value}
        onClick={() => void save()}
      />
      <Problem of={problem.value} />
    </>
  );
}
