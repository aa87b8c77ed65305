/** One build: how it stands, where its time went, what it wrote, and what can be done with it. */
import { useEffect } from 'preact/hooks';
import type { Build, Environment } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { followPolled } from '../../live.ts';
import { Button } from '../../button.tsx';
import { ifMissing, sentence } from '../../api.ts';
import { Fact } from '../../fact.tsx';
import { Missing } from '../../missing.tsx';
import { Notice } from '../../notice.tsx';
import { Unread } from '../../reading.tsx';
import { projectHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { isAdmin, roleIn, type SignedIn } from '../../session.ts';
import { Ago } from '../../time.tsx';
import { useTitlePart } from '../../title.ts';
import { counted, duration } from '../../words.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Address } from './address.tsx';
import { Image, State, Via } from './build-state.tsx';
import { builds, POLL_MS } from './calls.ts';
import { useDialogs, type AskAbout } from './dialogs.tsx';
import { LogView } from '../../parts/log/log-view.tsx';
import { buildOutput } from './output.ts';
import { Phases } from './phases.tsx';
import { useTick } from '../../tick.ts';
import { hasEnded, PHASE, tookMs } from './words.ts';

export interface BuildViewProps {
  readonly environment: Environment;
  readonly buildId: string;
  readonly session: SignedIn;
}

export function BuildView({ environment, buildId, session }: BuildViewProps) {
  const { ask, asked } = useDialogs();
  const read = useRead(
    `build ${buildId}`,
    async () => await ifMissing('absent' as const, async () => await builds.get(environment.id, buildId)),
  );
  const build = read.data.value;
  const running = build !== undefined && build !== 'absent' && !hasEnded(build);
  useEffect(() => (running ? followPolled(read, POLL_MS) : undefined), [running]);
  const now = useTick(running);
  useTitlePart(build === undefined || build === 'absent' ? undefined : `Build ${build.number}`);
  if (build === 'absent') return <Missing />;
  const back = <Back to={environment} />;
  if (build === undefined) {
    return (
      <>
        {back}
        <h1>Build</h1>
        <Unread of={read} what="the build" />
      </>
    );
  }
  return (
    <div class="build">
      {back}
      <header class="page-head build-head">
        <h1>Build {build.number}</h1>
        <span role="status">
          <State build={build} />
        </span>
        <Via build={build} />
      </header>
      <StaleNotice of={read} />
      <Verdict build={build} />
      <Actions build={build} session={session} ask={ask} />
      <div class="build-parts">
        <Facts build={build} now={now} />
        <Phases build={build} now={now} deploys={environment.deploy !== undefined} />
      </div>
      <Flaws build={build} />
      <LogView
        source={buildOutput(build, () => void read.load())}
        of={`build ${build.number}`}
        command="svc builds logs"
        hasFailed={build.state === 'failed'}
      />
      {asked}
    </div>
  );
}

function Back({ to }: { readonly to: Environment }) {
  return (
    <a class="back" href={projectHref(to.projectId, to.id, 'builds')} onClick={follow}>
      ‹ Builds of {to.name}
    </a>
  );
}

function Verdict({ build }: { readonly build: Build }) {
  if (build.needsDecision) {
    return (
      <Notice kind="warn">
        <strong>A person must decide.</strong> Its runner was lost after it had begun to{' '}
        {build.phase === 'deploying' ? 'deploy' : 'publish'}, so it was not run again by itself. Look at what
        came of it, then build the commit again.
      </Notice>
    );
  }
  if (build.cancelRequested && !hasEnded(build))
    return (
      <Notice kind="plain">It was asked to end, and does so as soon as its runner has stopped it.</Notice>
    );
  if (build.waiting !== undefined) {
    return (
      <Notice kind="plain">
        <strong>Why it waits:</strong> {sentence(build.waiting.detail)}
      </Notice>
    );
  }
  if (build.state !== 'failed') return null;
  return (
    <Notice kind="bad">
      <strong>
        Failed{build.phase === undefined ? '' : ` while ${PHASE[build.phase].toLowerCase()}`}
        {build.exitCode === undefined ? '' : `, exit code ${build.exitCode}`}.
      </strong>{' '}
      {build.message !== undefined && sentence(build.message)}
    </Notice>
  );
}

/** What the stored output cannot be relied on for. */
function Flaws({ build: { logMissingBytes, logMismatch } }: { readonly build: Build }) {
  if (logMissingBytes === 0 && !logMismatch) return null;
  return (
    <Notice kind="warn">
      {logMissingBytes > 0 &&
        `${counted(logMissingBytes, 'byte', 'bytes')} of its output were lost on the runner’s machine. `}
      {logMismatch && 'What is stored of its output is not what the runner announced at its end.'}
    </Notice>
  );
}

interface ActionsProps {
  readonly build: Build;
  readonly session: SignedIn;
  readonly ask: AskAbout;
}

function Actions({ build, session, ask }: ActionsProps) {
  const role = roleIn(session, build.teamId);
  if (role === 'viewer') return null;
  const decides = isAdmin(role);
  return (
    <div class="build-actions">
      {build.state === 'awaiting_approval' && decides && (
        <>
          <Button text="Approve the deploy" look="primary" onClick={() => ask({ kind: 'approve', build })} />
          <Button onClick={() => ask({ kind: 'reject', build })}>Reject it</Button>
        </>
      )}
      {build.state === 'awaiting_approval' && !decides && (
        <p class="muted">An admin of the team approves or rejects its deploy.</p>
      )}
      {!hasEnded(build) && !build.cancelRequested && (
        <Button onClick={() => ask({ kind: 'cancel', build })}>Cancel the build</Button>
      )}
      {build.state === 'succeeded' && build.digest !== undefined && (
        <Button onClick={() => ask({ kind: 'rollback', build })}>Roll back to it</Button>
      )}
      {hasEnded(build) && build.commit !== undefined && (
        <Button onClick={() => ask({ kind: 'again', build })}>Build this commit again</Button>
      )}
    </div>
  );
}

function Facts({ build, now }: { readonly build: Build; readonly now: number }) {
  const took = tookMs(build, now);
  return (
    <section class="build-facts" aria-labelledby="facts-title">
      <h2 id="facts-title">Facts</h2>
      <dl class="facts">
        <Fact
          name="Commit"
          of={build.commit === undefined ? 'the head, once the runner has it' : <code>{build.commit}</code>}
        />
        <Fact name="Branch">{build.branch}</Fact>
        {build.rollbackOf !== undefined && <Fact name="Rolls back to" of={<code>{build.rollbackOf}</code>} />}
        <Fact name="Begun" of={<Ago at={build.createdAt} />} />
        <Fact
          name="Took"
          of={<span aria-live="off">{took === undefined ? 'has not begun' : duration(took)}</span>}
        />
        {build.attempt > 1 && <Fact name="Attempts">{build.attempt}</Fact>}
        {build.image !== undefined && <Fact name="Image" of={<Image of={build} />} />}
        {build.tag !== undefined && <Fact name="Tag" of={<code>{build.tag}</code>} />}
        <Fact name="Address" of={<Address address={build.address} />} />
      </dl>
    </section>
  );
}
