/**
 * Shows what a promotion changes in its environment: what runs there now, what it brings, and which artifacts
 * and packages differ.
 */
import type { PromotionImage, PromotionPreview } from '@svc/sdk';
import { sentence } from '../../api.ts';
import { Fact } from '../../fact.tsx';
import { Ago } from '../../time.tsx';
import { artifactDifferences, packageDifferences, type Difference, type Differences } from './differences.ts';
import { shortDigest } from './words.ts';

/** Differences that are seen at once; the others are there when somebody opens them. */
const OPEN_MAX = 6;

export function Images({ of: { running, brought } }: { readonly of: PromotionPreview }) {
  return (
    <>
      <Fact
        name="Runs now"
        of={running === undefined ? <span class="muted">Nothing that is known</span> : <Image of={running} />}
      />
      <Fact name="Brings" of={<Image of={brought} />} />
    </>
  );
}

/** Its commit says most; without one its digest is what tells it from others. */
function Image({ of: { version, digest, commit, since } }: { readonly of: PromotionImage }) {
  return (
    <>
      <strong>{version ?? 'No release'}</strong>
      {commit !== undefined ? (
        <>
          , commit <code title={commit}>{commit.slice(0, 12)}</code>
        </>
      ) : (
        digest !== undefined && (
          <>
            , <code title={digest}>{shortDigest(digest)}</code>
          </>
        )
      )}
      {since !== undefined && (
        <span class="muted">
          , since <Ago at={since} />
        </span>
      )}
    </>
  );
}

export function Changes({ of: { artifacts, packages, packagesProblem } }: { readonly of: PromotionPreview }) {
  return (
    <section class="consequences" aria-labelledby="changes-title">
      <h3 id="changes-title">What changes</h3>
      <Listed what="Artifacts" of={artifactDifferences(artifacts)} />
      {packages === undefined ? (
        <p class="muted">
          {sentence(
            `Packages are not compared${packagesProblem === undefined ? '' : `: ${packagesProblem}`}`,
          )}
        </p>
      ) : (
        <Listed what="Packages" of={packageDifferences(packages)} />
      )}
    </section>
  );
}

function Listed({ what, of: { summary, named, more } }: { readonly what: string; readonly of: Differences }) {
  const folded = named.slice(OPEN_MAX);
  return (
    <div class="differences">
      <p>
        <strong>{what}:</strong> {summary}
      </p>
      {named.length > 0 && <Lines of={named.slice(0, OPEN_MAX)} />}
      {folded.length > 0 && (
        <details class="fold">
          <summary>{folded.length} more</summary>
          <Lines of={folded} />
          {more > 0 && <p class="muted">and {more.toLocaleString('en')} more that are not listed</p>}
        </details>
      )}
    </div>
  );
}

const Lines = ({ of }: { readonly of: readonly Difference[] }) => (
  <ul>
    {of.map((each) => (
      <Line key={`${each.kind} ${each.name} ${each.before} ${each.after}`} of={each} />
    ))}
  </ul>
);

function Line({ of: { name, kind, before, after } }: { readonly of: Difference }) {
  const [mark, word] =
    before === undefined ? ['+', 'added'] : after === undefined ? ['−', 'removed'] : ['~', 'changed'];
  return (
    <li class={`difference difference-${word}`}>
      <span class="difference-mark" aria-hidden="true">
        {mark}
      </span>
      <span class="visually-hidden">{word}: </span>
      <span>
        <bdi>{name}</bdi> <span class="muted">{kind}</span>
      </span>
      <span class="difference-versions">
        {before !== undefined && <code>{before}</code>}
        {before !== undefined && after !== undefined && (
          <>
            {' '}
            <span aria-hidden="true">→</span>
            <span class="visually-hidden">to</span>{' '}
          </>
        )}
        {after !== undefined && <code>{after}</code>}
      </span>
    </li>
  );
}
