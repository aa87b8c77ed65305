/** Keeps the question about a promotion that the page asks at the moment. */
import { createQuestion } from '../../question.ts';

export interface PromotionDialog {
  readonly promotionId: string;
  readonly kind: 'review' | 'reject';
}

export const { dialog, ask, closeDialog } = createQuestion<PromotionDialog>();
