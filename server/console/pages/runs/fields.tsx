/** Fields of a new run that are more than one line of text. */
import type { Signal } from '@preact/signals';
import { RunnerGroups } from '@svc/sdk';
import { client, ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { commandLine, wordsOf } from './command-line.ts';

const runnerGroups = new RunnerGroups(client);

interface CommandProps {
  readonly typed: Signal<string>;
  readonly problem: string | undefined;
}

export function CommandField({ typed, problem }: CommandProps) {
  const words = wordsOf(typed.value);
  const line = words === undefined ? '' : commandLine(words);
  return (
    <div class="field">
      <label htmlFor="run-command">Command</label>
      <p class="hint" id="run-command-hint">
        As at a terminal; Shift+Enter begins another line. Pipes, variables, patterns and several lines are
        given to <code>sh -c</code>.
      </p>
      <textarea
        id="run-command"
        class="run-typed"
        rows={Math.min(12, Math.max(2, typed.value.split('\n').length))}
        aria-describedby="run-command-hint"
        aria-required="true"
        {...(problem !== undefined && { 'aria-invalid': 'true' as const })}
        data-first-focus
        autoCapitalize="none"
        autoComplete="off"
        spellcheck={false}
        enterkeyhint="go"
        value={typed.value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
        onKeyDown={submitOnEnter}
      />
      {problem !== undefined && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      {line !== '' && line !== typed.value.trim() && (
        <p class="hint run-as">
          Runs <code>{line}</code>
        </p>
      )}
    </div>
  );
}

/** Enter runs it, but where it is the only way to another line: keyboards of screens have no Shift+Enter. */
function submitOnEnter(event: KeyboardEvent & { readonly currentTarget: HTMLTextAreaElement }): void {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  if (window.matchMedia('(pointer: coarse)').matches) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

interface GroupProps {
  readonly teamId: string;
  readonly of: Signal<string>;
  readonly problem: string | undefined;
}

/** Is not there where the team has no groups. */
export function GroupField({ teamId, of, problem }: GroupProps) {
  const read = useRead(
    `runner groups ${teamId}`,
    async () => await ifMissing([], async () => await runnerGroups.list(teamId)),
  );
  const names = new Set([of.value, ...(read.data.value ?? []).map(({ name }) => name)]);
  names.delete('');
  if (names.size === 0) return null;
  return (
    <div class="field">
      <label htmlFor="run-group">Runner group</label>
      <select id="run-group" value={of.value} onChange={(event) => (of.value = event.currentTarget.value)}>
        <option value="">Any</option>
        {[...names].map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {problem !== undefined && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
