/**
 * What a gate of ten policies costs over an artifact of 400 packages, once its thread is warm: through the
 * runner, which prints the input, hands it over, makes the values and gives verdicts, beside the same
 * expressions as plans of the library, run here on values that were made once.
 */
import { parse, plan } from '@bufbuild/cel';
import { performance } from 'node:perf_hooks';
import type { PolicyDocument } from '../../server/delivery/policies/engine/document.ts';
import { language } from '../../server/delivery/policies/engine/language.ts';
import { PolicyRunner } from '../../server/delivery/policies/engine/policy-runner.ts';
import { bindingsOf } from '../../server/delivery/policies/engine/values.ts';
import { figure, median, percentile, type Figure } from './figure.ts';
import { inputOf, PACKAGES, RULES } from './policy-data.ts';

const GATES = 400;
const WARM_UP = 100;
const P95_MS_MAX = 15;

const documentOf = (require: string): PolicyDocument => ({
  on: ['deploy'],
  mode: 'enforce',
  overridable: true,
  rules: [{ id: 'rule', message: 'not so', require }],
});

export async function run(): Promise<Figure[]> {
  const input = inputOf();
  const policies = RULES.map((require, n) => ({
    policyId: `pol_${n}`,
    revision: 1,
    document: documentOf(require),
  }));
  const plans = RULES.map((require) => plan(language, parse(require)));
  const bindings = bindingsOf(input);
  const runner = new PolicyRunner();
  const ours: number[] = [];
  const theirs: number[] = [];
  const timed = async (samples: number[], work: () => Promise<boolean> | boolean): Promise<void> => {
    const began = performance.now();
    const isAllowed = await work();
    samples.push(performance.now() - began);
    if (!isAllowed) throw new Error('a policy does not hold, and all of them should');
  };
  try {
    for (let n = 0; n < GATES + WARM_UP; n += 1) {
      await timed(theirs, () => plans.every((holds) => holds(bindings) === true));
      await timed(ours, async () =>
        (await runner.judge(policies, input)).every(({ outcome }) => outcome === 'allow'),
      );
    }
  } finally {
    runner.close();
  }
  const [gates, bare] = [ours.slice(WARM_UP), theirs.slice(WARM_UP)];
  const p95 = percentile(gates, 0.95);
  return [
    figure({
      name: `a gate of ${policies.length} policies over ${PACKAGES} packages, p50 (p95 ${p95.toFixed(1)} ms)`,
      value: median(gates),
      unit: 'ms',
      reference: 'the bare plans',
      referenceValue: median(bare),
      target: `≤ 2 ×, p95 ≤ ${P95_MS_MAX} ms`,
      pass: (_, ratio) => ratio <= 2 && p95 <= P95_MS_MAX,
    }),
  ];
}
