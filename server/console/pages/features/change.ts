/**
 * The one change of a switch that is being considered. Kept outside of the dialog, so that a session that
 * ends meanwhile does not take the text along.
 *
 *     previewing → ready → sending → done (gone)
 *                    ^        |
 *                    +--------+  refused: somebody was faster, the reason is too short, no answer
 */
import { computed, signal } from '@preact/signals';
import { SvcApiError, type AffectedFeature, type PlatformFeature, type SwitchState } from '@svc/sdk';
import { announce } from '../../announce.ts';
import { explain, isUnauthenticated, platformFeatures } from '../../api.ts';
import { onForget } from '../../session.ts';
import { applyFeature, featureOf, markFresh, readFeatures } from './features.ts';
import { counted } from '../../words.ts';
import { other, position } from './words.ts';

/** Characters of a reason after trimming; the server's own limit. */
export const REASON_MAX = 500;

export interface Pending {
  readonly key: string;
  readonly to: SwitchState;
  /** Revision that the decision rests on. The server refuses when it is no longer this one. */
  readonly revision: number;
}

export type Preview =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly why: string }
  | {
      readonly state: 'ready';
      readonly affected: readonly AffectedFeature[];
      readonly feature: PlatformFeature;
    };

export const pending = signal<Pending | undefined>(undefined);
export const preview = signal<Preview>({ state: 'loading' });
export const reason = signal('');
export const sending = signal(false);
/** Tells what is wrong with the text, once it was tried. */
export const reasonProblem = signal<string | undefined>(undefined);
/** The feature as somebody else left it while this dialog was open. */
export const overtaken = signal<PlatformFeature | undefined>(undefined);
export const failure = signal<string | undefined>(undefined);

/** Counted as the server does: characters, not UTF-16 units. */
export const reasonLength = computed(() => Array.from(reason.value.trim()).length);

/** Somebody moved the switch to where we wanted it. */
export const pointless = computed(
  () => overtaken.value !== undefined && overtaken.value.state === pending.value?.to,
);

export function consider(feature: PlatformFeature): void {
  cancel();
  pending.value = { key: feature.key, to: other(feature.state), revision: feature.revision };
  void loadPreview();
}

export function cancel(): void {
  pending.value = undefined;
  reason.value = '';
  reasonProblem.value = undefined;
  overtaken.value = undefined;
  failure.value = undefined;
  intent = undefined;
}

onForget(cancel);

export function setReason(text: string): void {
  reason.value = text;
  // Once complained about, it is judged as it is typed.
  if (reasonProblem.peek() !== undefined) reasonProblem.value = judge();
}

function judge(): string | undefined {
  const length = reasonLength.value;
  if (length === 0) return 'Say why.';
  if (length > REASON_MAX) return `At most ${REASON_MAX} characters; this has ${length}.`;
  return undefined;
}

export async function loadPreview(): Promise<void> {
  const asked = pending.value;
  if (asked === undefined) return;
  preview.value = { state: 'loading' };
  try {
    const { affected, feature } = await platformFeatures.setState(asked.key, {
      state: asked.to,
      dryRun: true,
    });
    if (pending.value === asked) preview.value = { state: 'ready', affected, feature };
  } catch (error) {
    if (pending.value === asked) preview.value = { state: 'failed', why: explain(error) };
  }
}

/**
 * Keeps one key for the same words: when an answer was lost, asking again must not be a second change. Any
 * definite answer ends it.
 */
let intent: { readonly of: string; readonly key: string } | undefined;

function intentKey(asked: Pending): string {
  const of = JSON.stringify([asked, reason.value.trim()]);
  if (intent?.of !== of) intent = { of, key: crypto.randomUUID() };
  return intent.key;
}

export async function confirm(): Promise<void> {
  const asked = pending.value;
  if (asked === undefined || sending.value || pointless.value || preview.value.state === 'loading') return;
  reasonProblem.value = judge();
  failure.value = undefined;
  if (reasonProblem.value !== undefined) return;
  sending.value = true;
  try {
    const { feature, affected } = await platformFeatures.setState(
      asked.key,
      { state: asked.to, reason: reason.value.trim(), revision: asked.revision },
      { idempotencyKey: intentKey(asked) },
    );
    done(feature, affected);
  } catch (error) {
    refused(asked, error);
  } finally {
    sending.value = false;
  }
}

function done(feature: PlatformFeature, affected: readonly AffectedFeature[]): void {
  applyFeature(feature);
  markFresh([feature.key, ...affected.map(({ key }) => key)]);
  // After the row, so that the focus returns to a switch that shows its new position.
  cancel();
  const more = affected.filter(({ key }) => key !== feature.key).length;
  const word = `${feature.key} is turned ${position(feature.state)}.`;
  announce(more === 0 ? word : `${word} ${counted(more, 'more feature', 'more features')} changed with it.`);
  void readFeatures();
}

function refused(asked: Pending, error: unknown): void {
  // The sign-in form comes up; text and key wait here.
  if (isUnauthenticated(error)) return;
  if (!(error instanceof SvcApiError)) throw error;
  if (error.status !== 0) intent = undefined;
  if (error.code === 'precondition_failed') {
    const current = currentOf(error) ?? featureOf(asked.key);
    if (current !== undefined) overtake(current);
    void readFeatures();
  } else if (error.code === 'reason_required') {
    reasonProblem.value = explain(error);
  } else {
    failure.value =
      error.status === 0
        ? `${explain(error)} It is not known whether the switch was moved. Trying again is safe: it moves once at most.`
        : explain(error);
  }
}

/** The row that a 412 brings along. */
function currentOf(error: SvcApiError): PlatformFeature | undefined {
  const body = error.body as { error?: { details?: { current?: PlatformFeature } } } | undefined;
  return body?.error?.details?.current;
}

/**
 * Goes on from what is now: the row is put right, the text is kept, and what would change is asked for anew.
 */
function overtake(current: PlatformFeature): void {
  const asked = pending.value;
  if (asked === undefined) return;
  overtaken.value = current;
  pending.value = { ...asked, revision: current.revision };
  applyFeature(current);
  markFresh([current.key]);
  void loadPreview();
}

/** Somebody else moved a switch. */
export function movedElsewhere(feature: PlatformFeature): void {
  if (pending.value?.key === feature.key && !sending.value && feature.revision !== pending.value.revision)
    overtake(feature);
}

/** The change of a switch that this page asks for is no news: its answer tells of it. */
export const isOwn = (key: string): boolean => sending.peek() && pending.peek()?.key === key;
