/**
 * Judges one policy after the other, in a thread that is ended from outside when they take too long or too
 * much.
 */
import { isCelError, parse, plan } from '@bufbuild/cel';
import { withArticle } from '@svc/proto/http/article.ts';
import type { PolicyDocument, PolicyRule } from './document.ts';
import { language } from './language.ts';
import type { Bindings } from './values.ts';
import type { FailedRule, Judged, PolicyAtGate } from './verdict.ts';

/**
 * Expressions whose plans are kept, in characters: a plan takes up to 200 bytes for each, and the thread has
 * 64 MB. What was used least recently goes first.
 */
const PLANS_CHARS_MAX = 131_072;
const DETAIL_CHARS_MAX = 300;

type Run = (bindings: Bindings) => unknown;

interface PlannedRule extends PolicyRule {
  readonly run: Run;
}

interface Plans {
  readonly chars: number;
  readonly when: Run | undefined;
  readonly rules: readonly PlannedRule[];
}

export interface Judge {
  judge(policy: PolicyAtGate, bindings: Bindings): Judged;
}

export function createJudge(): Judge {
  /** By policy and revision, the most recently used last. */
  const kept = new Map<string, Plans>();
  let chars = 0;
  const plansOf = ({ policyId, revision, document }: PolicyAtGate): Plans => {
    const key = `${policyId} ${revision}`;
    const known = kept.get(key);
    const plans = known ?? makePlans(document);
    if (known === undefined) chars += plans.chars;
    kept.delete(key);
    kept.set(key, plans);
    for (const [oldest, { chars: freed }] of kept) {
      if (chars <= PLANS_CHARS_MAX) break;
      kept.delete(oldest);
      chars -= freed;
    }
    return plans;
  };
  return {
    judge: (policy, bindings) => {
      const began = performance.now();
      try {
        const said = judgeBy(plansOf(policy), bindings, policy.document);
        return { ...said, ms: performance.now() - began };
      } catch (error) {
        return { ...errorOf(error), ms: performance.now() - began };
      }
    },
  };
}

function makePlans({ when, rules }: PolicyDocument): Plans {
  const texts = [when ?? '', ...rules.map(({ require }) => require)];
  const runOf = (text: string): Run => plan(language, parse(text)) as Run;
  return {
    chars: texts.reduce((sum, text) => sum + text.length, 0),
    when: when === undefined ? undefined : runOf(when),
    rules: rules.map((rule) => ({ ...rule, run: runOf(rule.require) })),
  };
}

type Judgement = Omit<Judged, 'ms'>;

/** All rules are run even when one has failed: whoever is refused is told everything that is missing. */
function judgeBy({ when, rules }: Plans, bindings: Bindings, { mode }: PolicyDocument): Judgement {
  if (when !== undefined) {
    const applies = when(bindings);
    if (applies === false) return { outcome: 'skipped', failed: [] };
    if (applies !== true) return errorOf(new Error(`the condition "when": ${causeOf(applies)}`));
  }
  const failed: FailedRule[] = [];
  const causes: string[] = [];
  for (const { id, message, run } of rules) {
    const held = run(bindings);
    if (held === false) failed.push({ id, message });
    else if (held !== true) {
      const cause = causeOf(held);
      causes.push(`rule "${id}": ${cause}`);
      failed.push({ id, message: `the rule "${id}" could not be judged: ${cause}` });
    }
  }
  if (causes.length > 0) return { ...errorOf(new Error(causes.join('; '))), failed };
  if (failed.length === 0) return { outcome: 'allow', failed };
  return { outcome: mode === 'enforce' ? 'deny' : 'warn', failed };
}

/** The library returns its errors. */
const causeOf = (value: unknown): string =>
  (isCelError(value) ? value.message : `the result is no bool but ${withArticle(typeof value)}`).slice(
    0,
    DETAIL_CHARS_MAX,
  );

function errorOf(error: unknown): Judgement {
  const detail = error instanceof Error ? error.message : 'unknown';
  return { outcome: 'error', failed: [], reason: 'rule', detail: detail.slice(0, DETAIL_CHARS_MAX) };
}
