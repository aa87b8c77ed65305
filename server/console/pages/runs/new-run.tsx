/**
 * This dialog makes a run. A command alone is enough; which fields there are besides, and what they take, the
 * contract says.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SandboxRun } from '@svc/sdk';
import { client } from '../../api.ts';
import { Ask } from '../../ask.tsx';
import { invalidate } from '../../cache.ts';
import { TextField } from '../../field.tsx';
import { collection } from '../../gen/team-sandbox-runs.ts';
import { Fields, useTexts } from '../../generic/form.tsx';
import { refusedFields, requestOf, textOf, type Problems, type Texts } from '../../generic/form-values.ts';
import { valueAt } from '../../generic/value.tsx';
import { Notice } from '../../notice.tsx';
import { teamHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { typedOf, wordsOf } from './command-line.ts';
import { CommandField, GroupField } from './fields.tsx';

interface NewRunProps {
  readonly teamId: string;
  /** A run that is to be made once more. */
  readonly again?: SandboxRun;
  readonly onClose: () => void;
}

const create = collection.acts.find(({ id }) => id === 'sandboxRuns.create');
/** These have a place of their own in the dialog, or one value alone. */
const OWN = [
  'command',
  'teamId',
  'purpose',
  'network',
  'runner.group',
  'runner.labels',
  'limits.timeoutSeconds',
];
const all = create?.fields ?? [];
const others = all.filter(({ name }) => !OWN.includes(name));
const helpOf = (name: string): string => all.find((field) => field.name === name)?.help ?? '';

/** Keeps what was typed and what is wrong with it, and makes a run of it. */
function useNewRun({ teamId, again }: NewRunProps) {
  const textIn = (name: string): string => {
    const field = all.find((each) => each.name === name);
    return again === undefined || field === undefined ? '' : textOf(field, valueAt(again, name));
  };
  const typed = useSignal(again === undefined ? '' : typedOf(again.command));
  const group = useSignal(textIn('runner.group'));
  const labels = useSignal(textIn('runner.labels').replaceAll('\n', ' '));
  const timeout = useSignal(textIn('limits.timeoutSeconds'));
  const texts = useTexts(Object.fromEntries(others.map(({ name }) => [name, textIn(name)])));
  const problems = useSignal<Problems>({});
  useEffect(() => document.querySelector<HTMLElement>('dialog [aria-invalid]')?.focus(), [problems.value]);
  const make = async (): Promise<string> => {
    const command = wordsOf(typed.value);
    const given: Texts = {
      ...texts.value,
      'runner.group': group.value,
      'runner.labels': labels.value.trim().replaceAll(/\s+/g, '\n'),
      'limits.timeoutSeconds': timeout.value.trim(),
    };
    const rest = all.filter(({ name }) => name !== 'command' && name !== 'teamId');
    const { input, problems: wrong } = requestOf(rest, given);
    problems.value = { ...wrong, ...commandProblem(command) };
    if (create === undefined || Object.keys(problems.value).length > 0)
      throw new Error('Something is missing or wrong above.');
    try {
      const made = await client.call<SandboxRun>(create.operation, { teamId, command, ...input });
      invalidate();
      navigate(teamHref(teamId, 'sandbox-runs', made.id));
      return 'The run is submitted.';
    } catch (error) {
      problems.value = refusedFields(error, all);
      throw error;
    }
  };
  return { typed, group, labels, timeout, texts, problems, make };
}

function commandProblem(words: readonly string[] | undefined): Problems {
  if (words === undefined) return { command: 'A quote is not closed.' };
  return words.length === 0 ? { command: 'A command is needed.' } : {};
}

export function NewRun(props: NewRunProps) {
  const { teamId, again, onClose } = props;
  const { typed, group, labels, timeout, texts, problems, make } = useNewRun(props);
  const wrong = problems.value;
  const lost = again?.envNames ?? [];
  return (
    <Ask title={again === undefined ? 'New run' : 'Run again'} verb="Run" act={make} onClose={onClose}>
      {lost.length > 0 && (
        <Notice kind="plain">
          It had variables whose values are not kept: {lost.join(', ')}. Give them anew if it needs them.
        </Notice>
      )}
      <CommandField typed={typed} problem={wrong['command']} />
      <GroupField teamId={teamId} of={group} problem={wrong['runner.group']} />
      <TextField
        id="run-labels"
        label="Runner labels (optional)"
        hint={`${helpOf('runner.labels')} Such as os=linux gpu=a100.`}
        value={labels}
        problem={wrong['runner.labels'] ?? wrong['runner']}
        spellcheck={false}
      />
      <TextField
        id="run-timeout"
        label="Timeout in seconds (optional)"
        hint={helpOf('limits.timeoutSeconds')}
        value={timeout}
        problem={wrong['limits.timeoutSeconds']}
        inputMode="numeric"
      />
      <details class="more" open={others.some(({ name }) => wrong[name] !== undefined)}>
        <summary>Image, variables, limits and more</summary>
        <Fields fields={others} texts={texts} problems={wrong} id="run" given={{ teamId }} />
      </details>
    </Ask>
  );
}
