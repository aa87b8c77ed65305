/** Shows one value of an answer, in the one way that its type has. */
import type { ComponentChildren } from 'preact';
import { CopyButton } from '../copy.tsx';
import { Standing } from '../fact.tsx';
import { fullTime } from '../relative-time.ts';
import type { ShownSpec } from '../spec.ts';
import { Ago } from '../time.tsx';

type Row = Readonly<Record<string, unknown>>;

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value at a JSON path such as `limits.memoryMb`. */
export const valueAt = (row: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((at, name) => (isRow(at) ? at[name] : undefined), row);

export function specAt(shown: readonly ShownSpec[], path: string): ShownSpec | undefined {
  const [first, ...rest] = path.split('.');
  const found = shown.find(({ name }) => name === first);
  return rest.length === 0 || found === undefined ? found : specAt(found.shown ?? [], rest.join('.'));
}

const GOOD = [
  'active',
  'approved',
  'completed',
  'connected',
  'deployed',
  'done',
  'enabled',
  'healthy',
  'live',
  'mounted',
  'ok',
  'online',
  'paid',
  'passed',
  'processed',
  'delivered',
  'published',
  'resolved',
  'running',
  'succeeded',
  'success',
  'synced',
  'verified',
];
const BAD = [
  'blocked',
  'cancelled',
  'conflicting',
  'dead',
  'degraded',
  'denied',
  'error',
  'expired',
  'failed',
  'failure',
  'flagged',
  'lost',
  'missing',
  'offline',
  'overdue',
  'refused',
  'rejected',
  'revoked',
  'silent',
  'timed_out',
  'unhealthy',
  'unsupported',
  'wrong',
];

/** Fields whose words say how something stands. */
const STANDING = /(?:^|[a-z])(?:state|status|health|outcome|verdict|conclusion|result)$/i;

/** Shows the word of a state, and never its colour alone. */
export const State = ({ of }: { readonly of: string }) => (
  <Standing of={[spoken(of), GOOD.includes(of) ? 'good' : BAD.includes(of) ? 'bad' : 'quiet']} />
);

/** A word such as `run:read` is written as it is. */
export const spoken = (word: string): string => {
  if (word.includes(':')) return word;
  const text = word.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

const ID = /^[a-z]{2,6}_[0-9a-z]{20,}$/;
const DIGEST = /^(sha256:)?[0-9a-f]{40,64}$/;

export const isId = (text: string): boolean => ID.test(text) || DIGEST.test(text);

/** The beginning says what it is, the end which one. */
export function shortened(id: string): string {
  const cut = id.indexOf('_') + 1 || (id.startsWith('sha256:') ? 7 : 0);
  return id.length - cut <= 14 ? id : `${id.slice(0, cut + 4)}…${id.slice(-6)}`;
}

/** An id is shortened in the middle and copied whole. */
export const Id = ({ of }: { readonly of: string }) => (
  <span class="id">
    <code title={of}>{shortened(of)}</code> <CopyButton text={of} label={`Copy ${of}`} />
  </span>
);

interface ValueProps {
  readonly of: unknown;
  readonly spec: ShownSpec | undefined;
  /** It stands in a row of a table: one line, nothing to press. */
  readonly isBrief?: boolean;
}

export function Value({ of, spec, isBrief = false }: ValueProps): ComponentChildren {
  if (of === undefined || of === null || of === '') return <span class="muted">–</span>;
  if (Array.isArray(of)) return <Many of={of} spec={spec} isBrief={isBrief} />;
  if (isRow(of) && Object.keys(of).length === 0) return <span class="muted">None</span>;
  if (isRow(of))
    return isBrief ? (
      <code class="brief">{JSON.stringify(of)}</code>
    ) : (
      <Facts of={of} shown={spec?.shown ?? []} />
    );
  if (typeof of === 'boolean') return of ? 'Yes' : 'No';
  const text = String(of);
  if (spec?.type === 'timestamp')
    return isBrief ? (
      <Ago at={text} />
    ) : (
      <>
        {fullTime(Date.parse(text))} · <Ago at={text} />
      </>
    );
  if (spec?.type === 'enum') return STANDING.test(spec.name) ? <State of={text} /> : spoken(text);
  if (isId(text)) return isBrief ? <code title={text}>{shortened(text)}</code> : <Id of={text} />;
  return (
    <span class={isBrief ? 'brief' : 'whole'} title={isBrief ? text : undefined}>
      {text}
    </span>
  );
}

function Many({
  of,
  spec,
  isBrief,
}: {
  readonly of: readonly unknown[];
  readonly spec: ShownSpec | undefined;
  readonly isBrief: boolean;
}) {
  if (of.length === 0) return <span class="muted">None</span>;
  if (isBrief)
    return of.every((each) => typeof each === 'string') ? (
      <span class="brief" title={of.join(' ')}>
        {of.join(' ')}
      </span>
    ) : (
      <>{of.length}</>
    );
  const one = spec && { ...spec, isMany: false };
  return (
    <ul class="values">
      {of.map((each, index) => (
        <li key={index}>
          <Value of={each} spec={one} />
        </li>
      ))}
    </ul>
  );
}

/** Shows the fields of an answer under their names; what is absent is left out. */
export function Facts({ of, shown }: { readonly of: Row; readonly shown: readonly ShownSpec[] }) {
  const known = new Set(shown.map(({ name }) => name));
  const others = Object.keys(of)
    .filter((name) => !known.has(name))
    .map((name): ShownSpec => ({ name, label: name, type: 'value' }));
  return (
    <dl class="fact-list">
      {[...shown, ...others].map((spec) =>
        of[spec.name] === undefined ? null : (
          <div key={spec.name}>
            <dt title={spec.help}>{spec.label}</dt>
            <dd>
              <Value of={of[spec.name]} spec={spec} />
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}
