/** Shows what would go where, and asks before it is approved. */
import type { Environment, Promotion } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { Fact } from '../../fact.tsx';
import { Ago } from '../../time.tsx';
import { useLastGood } from '../../use-last-good.ts';
import { counted } from '../../words.ts';
import { promotions, releases } from './calls.ts';
import { refusalOf } from './refusal.ts';
import { closeDialog } from './store.ts';
import { approvalsOf, shortDigest } from './words.ts';

export interface ApproveDialogProps {
  readonly promotion: Promotion;
  readonly environment: Environment;
  readonly userId: string;
  /** The promotion as the server answered it. */
  readonly onAnswer: (promotion: Promotion) => void;
  /** What is shown behind the dialog may be out of date. */
  readonly onRefusal: () => void;
}

export function ApproveDialog({ promotion, environment, userId, onAnswer, onRefusal }: ApproveDialogProps) {
  const { version, requestedBy } = promotion;
  const has = approvalsOf(promotion, environment);
  const needed = environment.requiredApprovals;
  const approve = async (): Promise<string> => {
    try {
      const answered = await promotions.approve(environment.id, promotion.id);
      onAnswer(answered);
      return answered.state === 'pending'
        ? `Your approval of ${version} for ${environment.name} counts; it waits for more.`
        : `${version} is approved for ${environment.name}.`;
    } catch (error) {
      onRefusal();
      const refusal = refusalOf(error);
      throw refusal === undefined ? error : new Error(refusal, { cause: error });
    }
  };
  return (
    <Ask
      title={`Approve ${version} for ${environment.name}?`}
      verb="Approve"
      act={approve}
      onClose={closeDialog}
    >
      <p>
        {promotion.state === 'pending'
          ? consequence(environment, needed - has - 1)
          : 'It does not wait for approvals any more.'}
      </p>
      <dl class="facts">
        <Fact name="Version">{version}</Fact>
        <Fact name="Environment">{environment.name}</Fact>
        <Fact name="Artifacts">
          <ReleaseArtifacts promotion={promotion} />
        </Fact>
        <Fact name="Approvals">
          {has} of {needed}
        </Fact>
        <Fact name="Asked for">
          <Ago at={promotion.createdAt} /> by {requestedBy === userId ? 'you' : <code>{requestedBy}</code>}
        </Fact>
      </dl>
    </Ask>
  );
}

function consequence({ deploy }: Environment, missing: number): string {
  if (missing > 0) return `It needs ${counted(missing, 'approval', 'approvals')} more after yours.`;
  const then =
    deploy === undefined
      ? 'It is then for whoever deploys it to do so.'
      : 'Its image is then deployed at once, in the place of what runs now.';
  return `Yours is the last approval that it needs. ${then}`;
}

function ReleaseArtifacts({ promotion }: { readonly promotion: Promotion }) {
  const read = useLastGood(async () => await releases.get(promotion.projectId, promotion.releaseId));
  const known = read.data.value;
  const unknown = read.unknown.value;
  if (known === undefined)
    return unknown === undefined ? (
      <span class="muted">Reading…</span>
    ) : (
      <span role="alert">They could not be read. {unknown.why}</span>
    );
  if (known.artifacts.length === 0) return <span class="muted">none</span>;
  return (
    <ul>
      {known.artifacts.map(({ id, name, digest }) => (
        <li key={id}>
          {name} <code title={digest}>{shortDigest(digest)}</code>
          {id === promotion.artifactId && ' (the image that is deployed)'}
        </li>
      ))}
    </ul>
  );
}
