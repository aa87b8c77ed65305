/** Dialogs ask before something is done to a build or its environment. */
import { useSignal } from '@preact/signals';
import type { Build, Environment } from '@svc/sdk';
import { invalidate } from '../../cache.ts';
import { Check } from '../../field.tsx';
import { Ask, type AskProps } from '../../ask.tsx';
import { environmentHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { Image } from './build-state.tsx';
import { builds } from './calls.ts';
import { shortCommit } from './words.ts';

type Dialog =
  | { readonly kind: 'build' | 'unlock'; readonly environment: Environment }
  | { readonly kind: 'cancel' | 'rollback' | 'approve' | 'reject' | 'again'; readonly build: Build };

export type AskAbout = (dialog: Dialog) => void;

type OnClose = Pick<AskProps, 'onClose'>;

/** Returns what asks, and what is shown of it. */
export function useDialogs() {
  const dialog = useSignal<Dialog | undefined>(undefined);
  const ask: AskAbout = (next) => {
    dialog.value = next;
  };
  const asked = dialog.value && <Dialogs dialog={dialog.value} onClose={() => (dialog.value = undefined)} />;
  return { ask, asked };
}

function Dialogs({ dialog, onClose }: OnClose & { readonly dialog: Dialog }) {
  switch (dialog.kind) {
    case 'build':
      return <BuildNow environment={dialog.environment} onClose={onClose} />;
    case 'unlock':
      return <Unlock environment={dialog.environment} onClose={onClose} />;
    case 'again':
      return <Again build={dialog.build} onClose={onClose} />;
    case 'cancel':
      return <Cancel build={dialog.build} onClose={onClose} />;
    case 'rollback':
      return <Rollback build={dialog.build} onClose={onClose} />;
    case 'approve':
    case 'reject':
      return <Decide build={dialog.build} decision={dialog.kind} onClose={onClose} />;
  }
}

type OfEnvironment = OnClose & { readonly environment: Environment };
type OfBuild = OnClose & { readonly build: Build };

/** Goes to the build that was begun, and says what it is. */
async function opened(beginning: Promise<Build>, what: string): Promise<string> {
  const { environmentId, id, number } = await beginning;
  invalidate();
  navigate(environmentHref(environmentId, 'builds', id));
  return `Build ${number} ${what}.`;
}

function BuildNow({ environment, onClose }: OfEnvironment) {
  const build = async (): Promise<string> => await opened(builds.create(environment.id), 'is submitted');
  return (
    <Ask title={`Build ${environment.name} now?`} verb="Build" act={build} onClose={onClose}>
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

function Again({ build, onClose }: OfBuild) {
  const commit = build.commit ?? '';
  const again = async (): Promise<string> =>
    await opened(builds.create(build.environmentId, { commit }), 'is submitted');
  return (
    <Ask title={`Build ${shortCommit(commit)} again?`} verb="Build again" act={again} onClose={onClose}>
      <p>
        A new build of the same commit, with the variables and steps that the environment has now. Build{' '}
        {build.number} stays as it is.
      </p>
    </Ask>
  );
}

function Cancel({ build, onClose }: OfBuild) {
  const cancel = async (): Promise<string> => {
    await builds.cancel(build.environmentId, build.id);
    invalidate();
    return `Build ${build.number} is asked to end.`;
  };
  const late = build.state === 'publishing' || build.state === 'deploying';
  return (
    <Ask
      title={`Cancel build ${build.number}?`}
      verb="Cancel the build"
      danger
      act={cancel}
      onClose={onClose}
    >
      <p>
        {late
          ? `It is ${build.state} already and may end as it was going to.`
          : 'What it has done so far is thrown away. It is not run again.'}
      </p>
    </Ask>
  );
}

function Rollback({ build, onClose }: OfBuild) {
  const rollback = async (): Promise<string> =>
    await opened(builds.rollback(build.environmentId, build.id), `rolls back to build ${build.number}`);
  return (
    <Ask
      title={`Roll back to build ${build.number}?`}
      verb="Roll back"
      danger
      act={rollback}
      onClose={onClose}
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

function Decide({ build, decision, onClose }: OfBuild & { readonly decision: 'approve' | 'reject' }) {
  const approve = decision === 'approve';
  const decide = async (): Promise<string> => {
    await builds.deployApproval(build.environmentId, build.id, decision);
    invalidate();
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
      onClose={onClose}
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

function Unlock({ environment, onClose }: OfEnvironment) {
  const force = useSignal(false);
  const unlock = async (): Promise<string> => {
    const { buildId } = await builds.unlock(environment.id, force.value);
    invalidate();
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
      onClose={onClose}
    >
      <p>
        Builds of an environment run one after the other. This frees it from one that has ended or lost its
        runner.
      </p>
      <Check of={force}>Cancel the build that holds it, even if it is at work</Check>
    </Ask>
  );
}
