/** This page shows what the app of an environment was asked: requests by minute, and both logs. */
import { SvcApiError, type Environment, type NginxLogKind } from '@svc/sdk';
import { explain } from '../../api.ts';
import { useRead } from '../../cache.ts';
import type { PageProps } from '../../page.ts';
import { Chart } from '../../parts/chart.tsx';
import { LogView } from '../../parts/log/log-view.tsx';
import { Unread } from '../../reading.tsx';
import { follow, hrefWith, param } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { counted } from '../../words.ts';
import { hourOf } from './requests.ts';
import { environments, nginxLog } from './source.ts';

const POLL_MS = 10_000;
const LOGS = [
  { kind: 'access', title: 'Access' },
  { kind: 'error', title: 'Errors' },
] as const;

export function LogsPage({ place: { environment } }: PageProps) {
  return environment === undefined ? null : <Logs key={environment.id} environment={environment} />;
}

/** It resolves with the reason where nothing tells of requests. */
async function readMinutes(id: string) {
  try {
    return await environments.nginxMinutes(id);
  } catch (error) {
    if (error instanceof SvcApiError && error.code === 'edge_unavailable') return { why: explain(error) };
    throw error;
  }
}

function Logs({ environment: { id, name } }: { readonly environment: Environment }) {
  const read = useRead(`requests ${id}`, async () => await readMinutes(id), POLL_MS);
  const kind: NginxLogKind = param('log') === 'error' ? 'error' : 'access';
  const known = read.data.value;
  return (
    <>
      <div class="item-head">
        <h1>Logs</h1>
      </div>
      {known === undefined ? (
        <Unread of={read} what="the requests" />
      ) : 'why' in known ? (
        <div class="empty empty-place">
          <p>{known.why}</p>
        </div>
      ) : (
        <>
          <StaleNotice of={read} />
          <Requests hour={hourOf(known.minutes, Date.now())} />
          <Kinds of={kind} />
          <LogView
            key={`${id} ${kind}`}
            source={nginxLog(id, kind)}
            of={`the ${kind} log of ${name}`}
            title={kind === 'access' ? 'Access log' : 'Log of errors'}
            command={`svc logs nginx --env ${id}${kind === 'error' ? ' --errors' : ''}`}
            hasFailed={false}
          />
        </>
      )}
    </>
  );
}

function Requests({
  hour: { data, slow, requests, failures },
}: {
  readonly hour: ReturnType<typeof hourOf>;
}) {
  return (
    <section class="panel" aria-labelledby="requests-title">
      <h2 id="requests-title">Requests of the last hour</h2>
      {requests === 0 ? (
        <p class="muted">None that is known.</p>
      ) : (
        <>
          <p class="muted">
            {counted(requests, 'request', 'requests')}, {counted(failures, 'failure', 'failures')} of the
            server (5xx).
          </p>
          <Chart
            label="Requests of the last hour by minute and answer"
            unit="Requests a minute"
            of="Minute"
            data={data}
            write={(value) => value.toLocaleString('en')}
            also={[{ name: '95 of 100 within', texts: slow }]}
          />
        </>
      )}
    </section>
  );
}

const Kinds = ({ of }: { readonly of: NginxLogKind }) => (
  <nav class="tabs" aria-label="Logs">
    {LOGS.map(({ kind, title }) => (
      <a
        key={kind}
        href={hrefWith({ log: kind })}
        aria-current={kind === of ? 'page' : undefined}
        onClick={follow}
      >
        {title}
      </a>
    ))}
  </nav>
);
