/** Asks why, before a promotion is rejected. Going back from it leads to its review. */
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Environment, Promotion } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { promotions } from './calls.ts';
import { given, Reason } from './reason.tsx';
import { ask, closeDialog } from './question.ts';

export interface RejectDialogProps {
  readonly promotion: Promotion;
  readonly environment: Environment;
  /** The promotion as the server answered it. */
  readonly onAnswer: (promotion: Promotion) => void;
  /** What is shown behind the dialog may be out of date. */
  readonly onRefusal: () => void;
}

export function RejectDialog({ promotion, environment, onAnswer, onRefusal }: RejectDialogProps) {
  const { id: promotionId, version } = promotion;
  const reason = useSignal('');
  const isDone = useRef(false);
  const reject = async (): Promise<string> => {
    const why = given(reason, 1);
    try {
      onAnswer(await promotions.reject(environment.id, promotionId, { reason: why }));
    } catch (error) {
      onRefusal();
      throw error;
    }
    isDone.current = true;
    return `${version} is rejected for ${environment.name}.`;
  };
  const close = (): void => {
    if (isDone.current) closeDialog();
    else ask({ promotionId, kind: 'review' });
  };
  return (
    <Ask
      title={`Reject ${version} for ${environment.name}?`}
      verb="Reject"
      danger
      act={reject}
      onClose={close}
    >
      <p>It is not deployed, and does not come back: whoever wants it asks for another promotion.</p>
      <Reason id="reject-reason" label="Why" hint="Whoever asked for it reads this." text={reason} />
    </Ask>
  );
}
