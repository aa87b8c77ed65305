/** Takes a `.env` text or file, says what it would set and what is wrong, and sets all in one call. */
import { useComputed, useSignal, type Signal } from '@preact/signals';
import type { Variable } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { invalidate } from '../../cache.ts';
import { Check } from '../../field.tsx';
import { Notice } from '../../notice.tsx';
import { counted } from '../../words.ts';
import { variables } from './calls.ts';
import { bytesOf, parseDotenv, TEXT_BYTES_MAX, VARIABLES_MAX, type Dotenv } from './dotenv.ts';

/** A long list would hold up the page: so many are named. */
const NAMED_MAX = 50;

interface PasteDialogProps {
  readonly environmentId: string;
  readonly known: readonly Variable[];
  readonly onClose: () => void;
}

const tooMany = (bytes: number): string =>
  `At most ${TEXT_BYTES_MAX.toLocaleString('en')} bytes at a time, got ${bytes.toLocaleString('en')}`;

function readText(text: string): Dotenv {
  const bytes = bytesOf(text);
  if (bytes > TEXT_BYTES_MAX) return { assignments: [], mistakes: [{ line: 1, why: tooMany(bytes) }] };
  const { assignments, mistakes } = parseDotenv(text);
  const beyond = assignments[VARIABLES_MAX];
  if (beyond === undefined) return { assignments, mistakes };
  const why = `At most ${VARIABLES_MAX} variables at a time, got ${assignments.length}`;
  return { assignments, mistakes: [{ line: beyond.line, why }, ...mistakes] };
}

export function PasteDialog({ environmentId, known, onClose }: PasteDialogProps) {
  const text = useSignal('');
  const isSecret = useSignal(false);
  const parsed = useComputed(() => readText(text.value));
  const { assignments, mistakes } = parsed.value;
  const set = async (): Promise<string> => {
    const values = Object.fromEntries(assignments.map(({ name, value }) => [name, value]));
    await variables.setMany(environmentId, values, isSecret.value ? { secret: true } : {});
    invalidate();
    return `${counted(assignments.length, 'variable is', 'variables are')} set.`;
  };
  const count = assignments.length;
  return (
    <Ask
      title="Paste a .env"
      verb={count === 0 ? 'Set variables' : `Set ${counted(count, 'variable', 'variables')}`}
      long
      blocked={count === 0 || mistakes.length > 0}
      act={set}
      onClose={onClose}
    >
      <Source text={text} />
      <Check of={isSecret}>
        All of them are secret (otherwise each stays as it was, and new ones are plain)
      </Check>
      <div class="preview" role="status">
        {text.value !== '' && <Preview parsed={parsed.value} known={known} />}
      </div>
    </Ask>
  );
}

function Source({ text }: { readonly text: Signal<string> }) {
  const problem = useSignal<string | undefined>(undefined);
  const take = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    problem.value = file.size > TEXT_BYTES_MAX ? tooMany(file.size) : undefined;
    if (problem.value === undefined) text.value = await file.text();
  };
  return (
    <>
      <div class="field">
        <label htmlFor="paste-text">Text</label>
        <p class="hint" id="paste-hint">
          One NAME=value a line. Variables that it does not name stay as they are.
        </p>
        <textarea
          id="paste-text"
          class="code-text"
          rows={8}
          spellcheck={false}
          aria-describedby="paste-hint"
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label htmlFor="paste-file">Or a file</label>
        <input id="paste-file" type="file" onChange={(event) => void take(event.currentTarget.files?.[0])} />
        {problem.value !== undefined && (
          <p class="field-problem" role="alert">
            {problem.value}
          </p>
        )}
      </div>
    </>
  );
}

function Preview({ parsed: { assignments, mistakes }, known }: PreviewProps) {
  const names = new Set(known.map(({ name }) => name));
  const replaced = assignments.filter(({ name }) => names.has(name)).length;
  return (
    <>
      {mistakes.length > 0 && (
        <Notice kind="bad">
          <strong>{counted(mistakes.length, 'line is', 'lines are')} wrong.</strong> Nothing is set before
          that is mended.
          <ul class="mistakes">
            {mistakes.slice(0, NAMED_MAX).map(({ line, why }) => (
              <li key={`${line} ${why}`}>
                Line {line}: {why}
              </li>
            ))}
          </ul>
          {mistakes.length > NAMED_MAX && `And ${mistakes.length - NAMED_MAX} more.`}
        </Notice>
      )}
      <p>
        {assignments.length - replaced} new, {replaced} replaced, {names.size - replaced} stay.
      </p>
      <ul class="assignments">
        {assignments.slice(0, NAMED_MAX).map(({ name }) => (
          <li key={name}>
            <code>{name}</code> <span class="muted">{names.has(name) ? 'replaced' : 'new'}</span>
          </li>
        ))}
      </ul>
      {assignments.length > NAMED_MAX && <p class="muted">And {assignments.length - NAMED_MAX} more.</p>}
    </>
  );
}

interface PreviewProps {
  readonly parsed: Dotenv;
  readonly known: readonly Variable[];
}
