/**
 * Shows where the time went: each phase has its own time and a bar on the build's own scale. The bars say
 * nothing that the text does not.
 */
import type { Build } from '@svc/sdk';
import { duration } from '../../words.ts';
import { STATUS_LABELS, stepsOf, type Step } from './words.ts';

export interface PhasesProps {
  readonly build: Build;
  readonly now: number;
  /** True where a deploy follows. */
  readonly deploys: boolean;
}

export function Phases({ build, now, deploys }: PhasesProps) {
  const steps = stepsOf(build, now, deploys);
  const begin = Date.parse(build.createdAt);
  const end = Math.max(begin + 1, ...steps.map(({ toMs }) => toMs ?? begin));
  return (
    <section class="phases" aria-labelledby="phases-title">
      <h2 id="phases-title">Phases</h2>
      <ol>
        {steps.map((step, index) => (
          <Phase key={`${index} ${step.name}`} step={step} begin={begin} span={end - begin} />
        ))}
      </ol>
    </section>
  );
}

function Phase({
  step: { name, status, fromMs, toMs },
  begin,
  span,
}: {
  readonly step: Step;
  readonly begin: number;
  readonly span: number;
}) {
  const known = fromMs !== undefined && toMs !== undefined;
  const took = known ? Math.max(0, toMs - fromMs) : 0;
  const from = known ? Math.min(99, Math.max(0, ((fromMs - begin) / span) * 100)) : 0;
  return (
    <li class={`phase phase-${status}`}>
      <span class="phase-name">{name}</span>
      <span class="phase-status">{STATUS_LABELS[status]}</span>
      <span class="phase-took">{known ? duration(took) : ''}</span>
      <svg class="phase-bar" aria-hidden="true" width="100%" height="10">
        <rect class="phase-ground" x="0" y="4" width="100%" height="2" />
        {known && (
          <rect
            class="phase-fill"
            x={`${from}%`}
            y="0"
            width={`${Math.min(100 - from, Math.max(0.6, (took / span) * 100))}%`}
            height="10"
            rx="2"
          />
        )}
      </svg>
    </li>
  );
}
