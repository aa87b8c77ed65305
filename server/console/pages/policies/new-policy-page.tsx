/** Makes a policy: its name, what it is about, and its document. What is typed is kept until it is made. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { Button } from '../../button.tsx';
import { invalidate, useRead } from '../../cache.ts';
import { draftOf, keepDraft } from '../../drafts.ts';
import { TextField } from '../../field.tsx';
import { Notice, Problem } from '../../notice.tsx';
import type { PageProps } from '../../page.ts';
import { Picker } from '../../picker.tsx';
import { teamHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { isAdmin, roleIn } from '../../session.ts';
import { useWork } from '../../use-work.ts';
import { environments, policies, projects } from './calls.ts';
import { useChecking, withDocument } from './checking.ts';
import { HINT } from './document-form.tsx';
import { Editor } from './editor.tsx';
import { PROJECTS_MAX } from './scopes.tsx';

const NAME_MAX = 100;
const START = `# What is promoted and deployed to production was built here, from the branch main.
on: [promotion.approve, deploy]
mode: enforce # or warn, audit
when: environment.name == 'production'
rules:
  - id: main-branch
    message: production takes what was built from the branch main alone
    require: artifacts.all(a, a.origin == 'build' && a.branch == 'main')
`;

export function NewPolicyPage({ place: { team }, session }: PageProps) {
  if (team === undefined) return null;
  if (!isAdmin(roleIn(session, team.id)))
    return (
      <>
        <h1>Create policy</h1>
        <Notice kind="plain">An admin of the team makes policies.</Notice>
      </>
    );
  return <NewPolicy key={team.id} teamId={team.id} />;
}

interface NewPolicyProps {
  readonly teamId: string;
}

/**
 * Keeps what is typed until the policy is made or cancelled: before it is drawn, so that whoever leaves right
 * after the last key loses nothing.
 */
function useTyped(key: string) {
  const draft = draftOf(key) ?? {};
  const name = useSignal(draft['name'] ?? '');
  const text = useSignal(draft['text'] ?? START);
  const projectId = useSignal(draft['projectId'] ?? '');
  const environmentId = useSignal(draft['environmentId'] ?? '');
  const now = {
    name: name.value,
    text: text.value,
    projectId: projectId.value,
    environmentId: environmentId.value,
  };
  const isTouched = now.name !== '' || now.text !== START || now.projectId !== '';
  useLayoutEffect(() => keepDraft(key, isTouched ? now : undefined), Object.values(now));
  return { name, text, projectId, environmentId };
}

function NewPolicy({ teamId }: NewPolicyProps) {
  const key = `new policy ${teamId}`;
  const { name, text, projectId, environmentId } = useTyped(key);
  const checking = useChecking(teamId, text);
  const { busy, problem, run } = useWork();
  const leave = (...rest: readonly string[]): void => {
    keepDraft(key, undefined);
    navigate(teamHref(teamId, 'policies', ...rest));
  };
  const create = async (): Promise<void> => {
    const params = {
      name: name.value,
      ...(projectId.value !== '' && { projectId: projectId.value }),
      ...(environmentId.value !== '' && { environmentId: environmentId.value }),
    };
    const made = await withDocument(
      text.value,
      checking.tell,
      async (document) => await policies.create(teamId, { ...params, document }),
    );
    if (made === undefined) return;
    invalidate();
    leave(made.id);
    announce(`${params.name} is created, and disabled until you enable it.`);
  };
  const isBlocked = busy.value || name.value === '' || checking.checked.value.state === 'wrong';
  return (
    <form
      class="policy-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBlocked) void run(create);
      }}
    >
      <h1>Create policy</h1>
      <p class="muted">It is disabled until you enable it, so that you can simulate it first.</p>
      <div class="policy-narrow">
        <TextField
          id="policy-name"
          label="Name"
          hint="No other policy of the team has it."
          value={name}
          maxLength={NAME_MAX}
          spellcheck={false}
        />
        <ScopePickers teamId={teamId} projectId={projectId} environmentId={environmentId} />
      </div>
      <Editor id="policy-document" label="Document" hint={HINT} text={text} checking={checking} />
      <Problem of={problem.value} />
      <div class="policy-acts">
        <Button text="Cancel" onClick={() => leave()} />
        <Button
          text={busy.value ? 'Waiting for the server…' : 'Create policy'}
          look="primary"
          submits
          waits={isBlocked}
        />
      </div>
    </form>
  );
}

interface ScopePickersProps {
  readonly teamId: string;
  readonly projectId: { value: string };
  readonly environmentId: { value: string };
}

function ScopePickers({ teamId, projectId, environmentId }: ScopePickersProps) {
  const all = useRead(
    `projects of ${teamId}`,
    async () => (await projects.listPage({ teamId, limit: PROJECTS_MAX })).projects,
  );
  const chosen = projectId.value;
  return (
    <div class="pickers">
      <Picker
        label="Project"
        of={all.data.value ?? []}
        value={chosen}
        all="All"
        onPick={(id) => {
          projectId.value = id;
          environmentId.value = '';
        }}
      />
      {chosen !== '' && <EnvironmentPicker key={chosen} projectId={chosen} environmentId={environmentId} />}
    </div>
  );
}

function EnvironmentPicker({
  projectId,
  environmentId,
}: {
  readonly projectId: string;
  readonly environmentId: { value: string };
}) {
  const all = useRead(`environments of ${projectId}`, async () => await environments.list(projectId));
  return (
    <Picker
      label="Environment"
      of={all.data.value ?? []}
      value={environmentId.value}
      all="All"
      onPick={(id) => (environmentId.value = id)}
    />
  );
}
