/** Changes the document of a policy. What is not saved is kept when the page is left, and Cancel drops it. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Policy } from '@svc/sdk';
import { announce } from '../../announce.ts';
import { Ask } from '../../ask.tsx';
import { Button } from '../../button.tsx';
import { invalidate } from '../../cache.ts';
import { draftOf, keepDraft } from '../../drafts.ts';
import { Notice, Problem } from '../../notice.tsx';
import { useWork } from '../../use-work.ts';
import { policies } from './calls.ts';
import { loadTexts, useChecking, withDocument } from './checking.ts';
import { Editor } from './editor.tsx';
import { Simulate } from './simulation.tsx';

export const HINT =
  'YAML or JSON, at most 65,536 bytes. Comments and the layout of the text are not kept when it is saved.';

interface DocumentFormProps {
  readonly policy: Policy;
  /** Text of the document that is in force. */
  readonly saved: string;
  readonly isManager: boolean;
  readonly onSaved: () => Promise<void>;
}

export function DocumentForm({ policy, saved, isManager, onSaved }: DocumentFormProps) {
  const { id, teamId, revision, enabled } = policy;
  const { text, base, isChanged, take } = useDraft(`policy ${id}`, saved, revision);
  const checking = useChecking(teamId, text);
  const { busy, problem, run } = useWork();
  const isAsked = useSignal(false);
  const save = async (): Promise<string | undefined> => {
    const answered = await withDocument(
      text.peek(),
      checking.tell,
      async (document) => await policies.updateDocument(teamId, id, document),
    );
    if (answered === undefined) return undefined;
    take((await loadTexts()).textOf(answered.document ?? {}), answered.revision);
    invalidate();
    await onSaved();
    return answered.revision === revision
      ? 'The document says the same: there is no new revision.'
      : `Revision ${answered.revision} is saved.`;
  };
  const saveNow = async (): Promise<void> => {
    const message = await save();
    if (message !== undefined) announce(message);
  };
  const isWrong = checking.checked.value.state === 'wrong';
  return (
    <div class="policy-form">
      {isChanged && base !== revision && (
        <Outdated revision={revision} onDrop={() => take(saved, revision)} />
      )}
      <Editor id="policy-document" label="Document" hint={HINT} text={text} checking={checking} />
      <Problem of={problem.value} />
      <div class="policy-acts">
        <span class="muted" role="status">
          {isChanged ? 'Unsaved changes' : ''}
        </span>
        {isChanged && <Button text="Cancel" onClick={() => take(saved, revision)} />}
        {isManager && (
          <Button
            text={busy.value ? 'Waiting for the server…' : 'Save document'}
            look="primary"
            waits={busy.value || !isChanged || isWrong}
            onClick={() => {
              if (!isChanged || isWrong) return;
              if (enabled) isAsked.value = true;
              else void run(saveNow);
            }}
          />
        )}
      </div>
      {isAsked.value && (
        <Ask
          title="Save the document?"
          verb="Save document"
          act={async () => (await save()) ?? 'It was not saved: the document has a problem.'}
          onClose={() => (isAsked.value = false)}
        >
          <p>
            The policy is enabled: this text, revision {revision + 1}, is in force at once. “Simulate” says
            what it would have refused of what has passed.
          </p>
        </Ask>
      )}
      <Simulate teamId={teamId} policyId={id} text={text} onProblems={checking.tell} />
    </div>
  );
}

function Outdated({ revision, onDrop }: { readonly revision: number; readonly onDrop: () => void }) {
  return (
    <Notice
      kind="warn"
      role="status"
      action={<Button text="Drop the changes" look="small" onClick={onDrop} />}
    >
      Revision {revision} was saved after this text was begun. Saving replaces it.
    </Notice>
  );
}

/**
 * The text that is edited, which follows what is saved for as long as nobody changes it. It is kept before it
 * is drawn, so that whoever leaves right after the last key loses nothing.
 */
function useDraft(key: string, saved: string, revision: number) {
  const draft = draftOf(key);
  const text = useSignal(draft?.['text'] ?? saved);
  const base = useSignal(Number(draft?.['revision'] ?? revision));
  const last = useRef(saved);
  const isChanged = text.value !== saved;
  const take = (now: string, from: number): void => {
    text.value = now;
    base.value = from;
  };
  useLayoutEffect(() => {
    if (last.current !== saved && text.peek() === last.current) take(saved, revision);
    last.current = saved;
  }, [saved, revision]);
  useLayoutEffect(() => {
    const isKept = text.value !== saved;
    keepDraft(key, isKept ? { text: text.value, revision: String(base.value) } : undefined);
  }, [text.value, saved, base.value]);
  return { text, base: base.value, isChanged, take };
}
