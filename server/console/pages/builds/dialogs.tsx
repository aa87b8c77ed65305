/** Dialogs ask before something is done to a build or its environment. */
import { useSignal } from '@preact/signals';
import type { Build, Environment } from '@svc/sdk';
import { Check } from '../../field.tsx';
import { Ask } from '../../ask.tsx';
import { environmentHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { Image } from './build-state.tsx';
import { builds } from './calls.ts';
import { closeDialog, type Dialog } from './store.ts';
import { shortCommit } from './words.ts';

export interface DialogsProps {
  readonly dialog: Dialog;
  /** The build as the server answered it. */
  readonly onDone?: (build: Build) => void;
}

export function Dialogs({ dialog, onDone = () => undefined }: DialogsProps) {
  switch (dialog.kind) {
    case 'build':
      return <BuildNow environment={dialog.environment} />;
    case 'unlock':
      return <Unlock environment={dialog.environment} />;
    case 'again':
      return <Again build={dialog.build} />;
    case 'cancel':
      return <Cancel build={dialog.build} onDone={onDone} />;
    case 'rollback':
      return <Rollback build={dialog.build} />;
    case 'approve':
    case 'reject':
      return <Decide build={dialog.build} decision={dialog.kind} onDone={onDone} />;
  }
}

/** Goes to the build that was begun, and says what it is. */
async function opened(beginning: Promise<Build>, what: string): Promise<string> {
  const { environmentId, id, number } = await beginning;
  navigate(environmentHref(environmentId, 'builds', id));
  return `Build ${number} ${what}.`;
}

function BuildNow({ environment }: { readonly environment: Environment }) {
  const build = async (): Promise<string> => await opened(builds.create(environment.id), 'is submitted');
  return (
    <Ask title={`Build ${environment.name} now?`} verb="Build" act={build} onClose={closeDialog}>
      <p>
        Takes the head of <code>{environment.branch}</code>
        {environment.repository !== undefined && (
          <>
            {' '}
            of <code>{environment.repository}</code>
          </>
        )}
        {environment.deploy === undefined
          ? ', builds and publishes it.'
          : environment.deployApproval
            ? ', builds and publishes it, and asks before it deploys.'
            : ', builds, publishes and deploys it.'}
      </p>
    </Ask>
  );
}

function Again({ build }: { readonly build: Build }) {
  const commit = build.commit ?? '';
  const again = async (): Promise<string> =>
    await opened(builds.create(build.environmentId, { commit }), 'is submitted');
  return (
    <Ask title={`Build ${shortCommit(commit)} again?`} verb="Build again" act={again} onClose={closeDialog}>
      <p>
        A new build of the same commit, with the variables and steps that the environment has now. Build{' '}
        {build.number} stays as it is.
      </p>
    </Ask>
  );
}

function Cancel({ build, onDone }: { readonly build: Build; readonly onDone: (build: Build) => void }) {
  const cancel = async (): Promise<string> => {
    onDone(await builds.cancel(build.environmentId, build.id));
    return `Build ${build.number} is asked to end.`;
  };
  const late = build.state === 'publishing' || build.state === 'deploying';
  return (
    <Ask
      title={`Cancel build ${build.number}?`}
      verb="Cancel the build"
      danger
      act={cancel}
      onClose={closeDialog}
    >
      <p>
        {late
          ? `It is ${build.state} already and may end as it was going to.`
          : 'What it has done so far is thrown away. It is not run again.'}
      </p>
    </Ask>
  );
}

function Rollback({ build }: { readonly build: Build }) {
  const rollback = async (): Promise<string> =>
    await opened(builds.rollback(build.environmentId, build.id), `rolls back to build ${build.number}`);
  return (
    <Ask
      title={`Roll back to build ${build.number}?`}
      verb="Roll back"
      danger
      act={rollback}
      onClose={closeDialog}
    >
      <p>
        Deploys its image again, in the place of what runs now. Nothing is cloned or built. Variables are
        those that the environment has now.
      </p>
      <p>
        <Image of={build} />
      </p>
    </Ask>
  );
}

function Decide({
  build,
  decision,
  onDone,
}: {
  readonly build: Build;
  readonly decision: 'approve' | 'reject';
  readonly onDone: (build: Build) => void;
}) {
  const approve = decision === 'approve';
  const decide = async (): Promise<string> => {
    onDone(await builds.deployApproval(build.environmentId, build.id, decision));
    return approve
      ? `Build ${build.number} is being deployed.`
      : `The deploy of build ${build.number} is rejected.`;
  };
  return (
    <Ask
      title={approve ? `Deploy build ${build.number}?` : `Reject the deploy of build ${build.number}?`}
      verb={approve ? 'Deploy it' : 'Reject it'}
      danger={!approve}
      act={decide}
      onClose={closeDialog}
    >
      <p>
        {approve
          ? 'Its image takes the place of what runs now.'
          : 'The build ends as cancelled. Its image stays in the registry; what runs now goes on.'}
      </p>
      <p>
        <Image of={build} />
      </p>
    </Ask>
  );
}

function Unlock({ environment }: { readonly environment: Environment }) {
  const force = useSignal(false);
  const unlock = async (): Promise<string> => {
    const { buildId } = await builds.unlock(environment.id, force.value);
    return buildId === undefined
      ? `Nothing held up ${environment.name}.`
      : `${environment.name} is free again; ${buildId} had held it.`;
  };
  return (
    <Ask
      title={`Unlock ${environment.name}?`}
      verb={force.value ? 'Cancel and unlock' : 'Unlock'}
      danger={force.value}
      act={unlock}
      onClose={closeDialog}
    >
      <p>
        Builds of an environment run one after the other. This frees it from one that has ended or lost its
        runner.
      </p>
      <Check of={force}>Cancel the build that holds it, even if it is at work</Check>
    </Ask>
  );
}
