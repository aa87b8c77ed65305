/** Keeps what the page of costs asks at the moment, and who may be asked it. */
import type { Budget, Plan, Team } from '@svc/sdk';
import { createQuestion } from '../../question.ts';

export type Dialog =
  | { readonly kind: 'budget'; readonly budget: Budget | undefined }
  | { readonly kind: 'delete'; readonly budget: Budget }
  | { readonly kind: 'credit' }
  | { readonly kind: 'plan'; readonly plan: Plan };

export const { dialog, ask, closeDialog } = createQuestion<Dialog>();

export const mayBill = ({ role }: Team): boolean => role === 'admin' || role === 'owner';
export const maySpend = ({ role }: Team): boolean => role === 'owner';
