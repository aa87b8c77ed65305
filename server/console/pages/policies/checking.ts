/**
 * Checks a text while it is typed: what is no YAML is found here, all else by the server, some moment after
 * the last key.
 */
import { useSignal, type ReadonlySignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { explain, isUnauthenticated } from '../../api.ts';
import { policies } from './calls.ts';
import { placed, apiProblems, type Problem } from './problems.ts';

const QUIET_MS = 400;

export type Checked =
  | { readonly state: 'checking' }
  | { readonly state: 'good' }
  | { readonly state: 'wrong'; readonly problems: readonly Problem[] }
  | { readonly state: 'unknown'; readonly why: string };

/** The code that reads YAML is as large as a page. */
export const loadTexts = async () => await import('./document-text.ts');

export type PolicyDocument = Parameters<typeof policies.check>[1];
type Tell = (problems: readonly Problem[]) => void;

/**
 * Hands the document of a text to a call. Undefined: it is not done, because of problems of the text or the
 * document, which are told.
 */
export async function withDocument<T>(
  text: string,
  tell: Tell,
  act: (document: PolicyDocument) => Promise<T>,
): Promise<T | undefined> {
  const read = (await loadTexts()).readText(text);
  if ('problem' in read) {
    tell([read.problem]);
    return undefined;
  }
  try {
    return await act(read.document as PolicyDocument);
  } catch (error) {
    const told = apiProblems(error);
    if (told === undefined) throw error;
    tell(placed(read, told));
    return undefined;
  }
}

/** Returns what is wrong; throws what hinders the check. */
async function checkText(teamId: string, text: string, signal: AbortSignal): Promise<readonly Problem[]> {
  let problems: readonly Problem[] = [];
  await withDocument(
    text,
    (told) => (problems = told),
    async (document) => await policies.check(teamId, document, { signal }),
  );
  return problems;
}

/** Also what the server said when it was asked to save a text. */
export interface Checking {
  readonly checked: ReadonlySignal<Checked>;
  readonly tell: Tell;
  readonly again: () => void;
}

export function useChecking(teamId: string, text: Signal<string>): Checking {
  const checked = useSignal<Checked>({ state: 'checking' });
  const tries = useSignal(0);
  const now = text.value;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    checked.value = { state: 'checking' };
    const timer = window.setTimeout(() => {
      checkText(teamId, now, signal).then(
        (problems) => {
          if (signal.aborted) return;
          checked.value = problems.length === 0 ? { state: 'good' } : { state: 'wrong', problems };
        },
        (error: unknown) => {
          if (signal.aborted || isUnauthenticated(error)) return;
          checked.value = { state: 'unknown', why: explain(error) };
        },
      );
    }, QUIET_MS);
    return () => {
      window.clearTimeout(timer);
      controller.abort();
    };
  }, [teamId, now, tries.value]);
  return {
    checked,
    tell: (problems) => (checked.value = { state: 'wrong', problems }),
    again: () => (tries.value += 1),
  };
}
