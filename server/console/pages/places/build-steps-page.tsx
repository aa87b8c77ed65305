/** This page shows build steps of an environment in the order in which they run. */
import { useSignal } from '@preact/signals';
import type { BuildStep, Environment } from '@svc/sdk';
import { announce } from '../../announce.ts';
import { Ask } from '../../ask.tsx';
import { Button } from '../../button.tsx';
import { invalidate, useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { TextArea } from '../../field.tsx';
import { Problem } from '../../notice.tsx';
import type { PageProps } from '../../page.ts';
import { ForRole } from '../../parts/role.tsx';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { useWork } from '../../use-work.ts';
import { buildSteps, POLL_MS } from './calls.ts';

const COMMAND_MAX = 8_192;

/** A step that is to be deleted, or the wish for a new one. */
type Open = BuildStep | 'add';

export function BuildStepsPage({ place: { environment } }: PageProps) {
  return environment === undefined ? null : <List key={environment.id} environment={environment} />;
}

function List({ environment: { id, name, teamId } }: { readonly environment: Environment }) {
  const read = useRead(`build steps ${id}`, async () => await buildSteps.list(id), POLL_MS);
  const open = useSignal<Open | undefined>(undefined);
  const known = read.data.value;
  const add = (
    <ForRole teamId={teamId} least="developer" acts="Add, move and delete build steps">
      <Button text="Add build step" look="primary" onClick={() => (open.value = 'add')} />
    </ForRole>
  );
  return (
    <>
      <div class="item-head">
        <h1>Build steps</h1>
        {known !== undefined && known.length > 0 && add}
      </div>
      {known === undefined ? (
        <Unread of={read} what="the build steps" />
      ) : known.length === 0 ? (
        <div class="empty empty-place">
          <p>No build step yet: each is a shell command that runs before the image of {name} is built.</p>
          {add}
          <CopyLine name="the command" text={`svc build-steps add 'npm ci' --env ${id}`} />
        </div>
      ) : (
        <>
          <StaleNotice of={read} />
          <Steps steps={known} teamId={teamId} onDelete={(step) => (open.value = step)} />
        </>
      )}
      {open.value === 'add' && <Add environmentId={id} onClose={() => (open.value = undefined)} />}
      {typeof open.value === 'object' && (
        <Remove step={open.value} onClose={() => (open.value = undefined)} />
      )}
    </>
  );
}

interface StepsProps {
  readonly steps: readonly BuildStep[];
  readonly teamId: string;
  readonly onDelete: (step: BuildStep) => void;
}

function Steps({ steps, teamId, onDelete }: StepsProps) {
  const { busy, problem, run } = useWork();
  const move = async ({ environmentId, id, position }: BuildStep, direction: 'up' | 'down'): Promise<void> =>
    await run(async () => {
      await buildSteps.move(environmentId, id, direction);
      invalidate();
      announce(`Step ${position} is moved ${direction}.`);
    });
  return (
    <>
      <Problem of={problem.value} />
      <ol class="build-steps" aria-busy={busy.value}>
        {steps.map((step, index) => (
          <li key={step.id}>
            <span class="step-number">{index + 1}</span>
            <code>{step.command}</code>
            <ForRole teamId={teamId} least="developer">
              <span class="row-acts">
                <Button
                  text="Up"
                  look="small"
                  label={`Move step ${index + 1} up`}
                  waits={busy.value || index === 0}
                  onClick={() => index > 0 && void move(step, 'up')}
                />
                <Button
                  text="Down"
                  look="small"
                  label={`Move step ${index + 1} down`}
                  waits={busy.value || index === steps.length - 1}
                  onClick={() => index < steps.length - 1 && void move(step, 'down')}
                />
                <Button
                  text="Delete"
                  look="small"
                  label={`Delete step ${index + 1}`}
                  onClick={() => onDelete(step)}
                />
              </span>
            </ForRole>
          </li>
        ))}
      </ol>
    </>
  );
}

function Add({ environmentId, onClose }: { readonly environmentId: string; readonly onClose: () => void }) {
  const command = useSignal('');
  const add = async (): Promise<string> => {
    const { position } = await buildSteps.add(environmentId, command.value);
    invalidate();
    return `Step ${position} is added.`;
  };
  return (
    <Ask title="Add build step" verb="Add build step" act={add} onClose={onClose}>
      <TextArea
        id="step-command"
        label="Command"
        hint="A shell command, at most 8,192 characters. It runs behind the steps that there are."
        value={command}
        rows={3}
        maxLength={COMMAND_MAX}
        data-first-focus
      />
    </Ask>
  );
}

function Remove({ step, onClose }: { readonly step: BuildStep; readonly onClose: () => void }) {
  const remove = async (): Promise<string> => {
    await buildSteps.delete(step.environmentId, step.id);
    invalidate();
    return 'The build step is deleted.';
  };
  return (
    <Ask title="Delete the build step?" verb="Delete" danger act={remove} onClose={onClose}>
      <p>The next build runs without it:</p>
      <pre class="step-command">{step.command}</pre>
    </Ask>
  );
}
