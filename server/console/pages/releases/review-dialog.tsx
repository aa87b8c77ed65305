/** Shows what a promotion changes and what the policies say, and asks whether it is approved. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Environment, Promotion, PromotionRule } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { Ask } from '../../ask.tsx';
import { useRead } from '../../cache.ts';
import { Fact } from '../../fact.tsx';
import { Check } from '../../field.tsx';
import { Notice } from '../../notice.tsx';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { counted } from '../../words.ts';
import { promotions } from './calls.ts';
import { Changes, Images } from './changes.tsx';
import { given, Reason } from './reason.tsx';
import { isOutdated, refusal, refusedBy } from './refusal.ts';
import { readReview, type Review } from './review.ts';
import { ask, closeDialog } from './question.ts';
import { decides, whyNot, type Person } from './words.ts';

export interface ReviewDialogProps {
  readonly promotion: Promotion;
  readonly environment: Environment;
  readonly person: Person;
  /** Changes when what is shown may not be so any more. */
  readonly as: string;
  /** The promotion as the server answered it. */
  readonly onAnswer: (promotion: Promotion) => void;
  /** What is shown behind the dialog may be out of date. */
  readonly onRefusal: () => void;
}

/** Least characters of a reason, as the contract sets them. */
const OVERRIDE_CHARS_MIN = 8;
/** Parts of what is approved that say where it goes. */
const TARGET = /^(deploy\.|runner\.|region$)/;

export function ReviewDialog({ promotion, environment, person, as, ...on }: ReviewDialogProps) {
  const { id, version, state } = promotion;
  const isOwner = person.role === 'owner';
  const read = useRead(`review ${id}`, async () => await readReview(promotion));
  useEffect(() => {
    if (read.data.peek() !== undefined) void read.load();
  }, [as]);
  const overrides = useSignal(false);
  const reason = useSignal('');
  const review = read.data.value;
  const hindrance =
    state === 'pending' ? whyNot(promotion, environment, person) : 'It does not wait for approvals any more.';
  const refused = review !== undefined && hindrance === undefined && isRefused(review);
  const canOverride = refused && isOwner && firm(review).length === 0;
  const overriding = canOverride && overrides.value;
  const approve = async (): Promise<string> => {
    const override = overriding ? { override: { reason: given(reason, OVERRIDE_CHARS_MIN) } } : {};
    // The server refuses it if something has changed since it was shown.
    const fingerprint = review?.preview.promotion.fingerprint;
    const seen = fingerprint === undefined ? {} : { fingerprint };
    try {
      const answered = await promotions.approve(environment.id, id, { ...override, ...seen });
      on.onAnswer(answered);
      return answered.state === 'pending'
        ? `Your approval of ${version} for ${environment.name} counts; it waits for more.`
        : `${version} is approved for ${environment.name}.`;
    } catch (error) {
      on.onRefusal();
      const reading = read.load();
      if (isOutdated(error)) await reading;
      const rules = isOutdated(error) ? refusing(read.data.peek()) : refusedBy(error);
      // The server says why an override does not help.
      throw rules.length === 0 || overriding ? error : new Error(refusal(rules), { cause: error });
    }
  };
  return (
    <Ask
      title={`Review ${version} for ${environment.name}`}
      verb={overriding ? 'Override and approve' : 'Approve'}
      danger={overriding}
      long
      blocked={review === undefined || hindrance !== undefined || (refused && !overriding)}
      aside={state === 'pending' && decides(person) && <RejectInstead promotionId={id} />}
      act={approve}
      onClose={closeDialog}
    >
      {review !== undefined ? (
        <>
          <StaleNotice of={read} />
          <p>{hindrance ?? consequence(environment, review)}</p>
          <Facts promotion={promotion} person={person} of={review} />
          <Changes of={review.preview} />
          <Rules of={review} />
          {canOverride && <Override on={overrides} reason={reason} />}
        </>
      ) : (
        <Unread of={read} what="what it changes" plain />
      )}
    </Ask>
  );
}

const missingAfter = ({ preview: { approvals, requiredApprovals } }: Review): number =>
  Math.max(0, requiredApprovals - approvals - 1);

/** Policies are asked at the last approval. */
const isRefused = (review: Review): boolean =>
  missingAfter(review) === 0 && review.preview.policies?.allowed === false;

/** Rules that refuse what it has become since it was shown. */
const refusing = (review: Review | undefined): readonly PromotionRule[] =>
  review !== undefined && isRefused(review) ? (review.preview.policies?.denied ?? []) : [];

/** Names of the policies that refuse it and let nobody override them. */
const firm = ({ preview }: Review): readonly string[] => [
  ...new Set(
    preview.policies?.denied.flatMap(({ overridable, policyName }) => (overridable ? [] : [policyName])),
  ),
];

function consequence({ deploy }: Environment, review: Review): string {
  const missing = missingAfter(review);
  if (missing > 0) return `It needs ${counted(missing, 'approval', 'approvals')} more after yours.`;
  const then =
    deploy === undefined
      ? 'It is then for whoever deploys it to do so.'
      : 'Its image is then deployed at once, in the place of what runs now.';
  return `Yours is the last approval that it needs. ${then}`;
}

const RejectInstead = ({ promotionId }: { readonly promotionId: string }) => (
  <Button text="Reject…" look="quiet" onClick={() => ask({ promotionId, kind: 'reject' })} />
);

interface FactsProps {
  readonly promotion: Promotion;
  readonly person: Person;
  readonly of: Review;
}

function Facts({ promotion, person, of: { preview, names } }: FactsProps) {
  const name = (userId: string): string => (userId === person.userId ? 'you' : (names.get(userId) ?? userId));
  const { createdAt, requestedBy } = promotion;
  const { approvals } = preview.promotion;
  const counting = approvals.filter(({ voidReason }) => voidReason === undefined);
  const target = preview.subject.filter(({ name: part }) => TARGET.test(part));
  return (
    <dl class="facts">
      <Images of={preview} />
      <Fact name="Asked for">
        <Ago at={createdAt} /> by {name(requestedBy)}
      </Fact>
      <Fact name="Approvals">
        {preview.approvals} of {preview.requiredApprovals}
        {counting.length > 0 && `, by ${counting.map(({ userId }) => name(userId)).join(', ')}`}
      </Fact>
      {approvals
        .filter(({ voidReason }) => voidReason !== undefined)
        .map(({ userId, at, voidReason }) => (
          <Fact key={`${userId} ${at}`} name="Counts no longer">
            The approval by {name(userId)}: {voidReason}
          </Fact>
        ))}
      {target.length > 0 && (
        <Fact name="Target">{target.map(({ name: part, value }) => `${part} ${value}`).join(', ')}</Fact>
      )}
    </dl>
  );
}

function Rules({ of: review }: { readonly of: Review }) {
  const { denied = [], warned = [] } = review.preview.policies ?? {};
  const now = missingAfter(review) === 0;
  return (
    <>
      {denied.length > 0 && (
        <Notice kind="bad" role="status">
          <strong>{now ? 'Policies refuse it.' : 'Policies would refuse the last approval.'}</strong>
          <RuleList of={denied} />
          {firm(review).length > 0 &&
            `It cannot be overridden: ${firm(review).join(', ')} does not allow that.`}
        </Notice>
      )}
      {warned.length > 0 && (
        <Notice kind="warn">
          <strong>Policies warn.</strong>
          <RuleList of={warned} />
        </Notice>
      )}
    </>
  );
}

const RuleList = ({ of }: { readonly of: readonly PromotionRule[] }) => (
  <ul>
    {of.map(({ policyId, policyName, ruleId, message }) => (
      <li key={`${policyId} ${ruleId}`}>
        <strong>{policyName}:</strong> {message}
      </li>
    ))}
  </ul>
);

function Override({ on, reason }: { readonly on: Signal<boolean>; readonly reason: Signal<string> }) {
  return (
    <>
      <Check of={on}>Override the policies, as an owner</Check>
      {on.value && (
        <Reason
          id="override-reason"
          label="Why it cannot wait"
          hint={`At least ${OVERRIDE_CHARS_MIN} characters. It stands in the ledger and beside the promotion.`}
          text={reason}
        />
      )}
    </>
  );
}
