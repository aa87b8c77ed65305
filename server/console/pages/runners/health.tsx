/** This view says how a runner is, in a word beside a mark, and below it what to do. */
import type { Runner } from '@svc/sdk';
import { Ago, At } from '../../time.tsx';
import { counted } from '../../words.ts';
import { healthWords, reasonAdvice } from './words.ts';

export function Health({ runner }: { readonly runner: Runner }) {
  const { word, tone, since, advice } = healthWords(runner);
  return (
    <div class="health">
      <p class={`health-word tone-${tone}`}>
        <span class="dot" aria-hidden="true" />
        <strong>{word}</strong>
        {since !== undefined && (
          <span class="health-since">
            {runner.health === 'silent' ? 'last call' : ''} <Ago at={since} />
          </span>
        )}
      </p>
      {runner.health === 'paused' && <Pause runner={runner} />}
      {runner.notReady.length > 0 && runner.health === 'not_ready' && (
        <ul class="reasons">
          {runner.notReady.map((reason) => (
            <li key={reason}>
              {reason} <span class="muted">{reasonAdvice(reason)}</span>
            </li>
          ))}
        </ul>
      )}
      {advice !== '' && (
        <p class="advice">
          <Typed text={advice} />
        </p>
      )}
      {runner.leases > 0 && (runner.health === 'silent' || runner.health === 'paused') && (
        <p class="advice">
          {runner.health === 'paused'
            ? `Finishes ${counted(runner.leases, 'item', 'items')} of work first.`
            : `Held ${counted(runner.leases, 'item', 'items')} of work, which goes back to the queue when its lease ends.`}
        </p>
      )}
    </div>
  );
}

function Pause({ runner: { pauseNote, pausedUntil } }: { readonly runner: Runner }) {
  return (
    <p class="advice">
      {pauseNote !== undefined && pauseNote !== '' && <span class="note">{pauseNote}</span>}{' '}
      {pausedUntil === undefined ? (
        'Until somebody resumes it.'
      ) : (
        <>
          Resumes by itself at <At ms={Date.parse(pausedUntil)} />.
        </>
      )}
    </p>
  );
}

/** Backquotes mark what is typed. */
export function Typed({ text }: { readonly text: string }) {
  return (
    <>{text.split('`').map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))}</>
  );
}
