/** This page shows the database of an environment and the test database of its builds. */
import type { Environment, HostedDatabase } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { Fact, Standing, type StateWord } from '../../fact.tsx';
import { collection } from '../../gen/project-environments.ts';
import { Acts } from '../../generic/acts.tsx';
import { Notice } from '../../notice.tsx';
import type { PageProps } from '../../page.ts';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { database, POLL_MS, testDatabase } from './calls.ts';

export function DatabasePage({ place: { environment } }: PageProps) {
  return environment === undefined ? null : <Databases key={environment.id} environment={environment} />;
}

function Databases({ environment }: { readonly environment: Environment }) {
  const { id } = environment;
  const read = useRead(
    `databases ${id}`,
    async () => {
      const [main, test] = await Promise.all([
        ifMissing(undefined, async () => await database.get(id)),
        ifMissing(undefined, async () => await testDatabase.get(id)),
      ]);
      return { main, test };
    },
    POLL_MS,
  );
  const known = read.data.value;
  return (
    <>
      <div class="item-head">
        <h1>Database</h1>
        {known?.main !== undefined && (
          <PartActs of={known.main} environment={environment} service="database" />
        )}
      </div>
      {known === undefined ? (
        <Unread of={read} what="the database" />
      ) : (
        <>
          <StaleNotice of={read} />
          <Main of={known.main} environment={environment} />
          <Test of={known.test} environment={environment} />
        </>
      )}
    </>
  );
}

interface PartProps {
  readonly of: HostedDatabase | undefined;
  readonly environment: Environment;
}

/** Offers what can be done now, by the contract: to make one, or to take the one away that is there. */
function PartActs({ of, environment: { id, teamId }, service }: PartProps & { readonly service: string }) {
  const isThere = of !== undefined && of.state !== 'deleting' && of.state !== 'retained';
  const wanted = `${service}.${isThere ? 'delete' : 'create'}`;
  const calls = [...collection.acts, ...collection.itemActs].filter((call) => call.id === wanted);
  return (
    <Acts calls={calls} given={{ environmentId: id, teamId }} {...(isThere && { item: of, name: of.type })} />
  );
}

function Main({ of, environment }: PartProps) {
  if (of === undefined)
    return (
      <div class="empty empty-place">
        <p>
          {environment.name} has no database. Its runner brings one up beside the app, makes the password, and
          hands the address to the app alone, as DATABASE_URL.
        </p>
        <PartActs of={of} environment={environment} service="database" />
        <CopyLine name="the command" text={`svc database create postgres --env ${environment.id}`} />
      </div>
    );
  return (
    <section>
      {of.problem !== undefined && <Notice kind="warn">{of.problem}</Notice>}
      <dl class="fact-list place-facts">
        <Facts of={of} />
        <Fact name="Last backup">
          <LastBackup of={of} />
        </Fact>
        {of.retainedUntil !== undefined && (
          <Fact name="Content goes">
            <Ago at={of.retainedUntil} />
          </Fact>
        )}
      </dl>
      {of.backup?.state === 'failed' && (
        <Notice kind="warn">{`The last backup failed: ${of.backup.problem}. Earlier ones are kept.`}</Notice>
      )}
    </section>
  );
}

function Test({ of, environment }: PartProps) {
  return (
    <section class="newest">
      <div class="newest-head">
        <h2>Test database</h2>
        <PartActs of={of} environment={environment} service="testDatabase" />
      </div>
      {of === undefined ? (
        <p class="muted">
          Build steps have none. With one, each attempt of a build gets an empty database for its steps, as
          DATABASE_URL and TEST_DATABASE_URL.
        </p>
      ) : (
        <dl class="fact-list place-facts">
          <Facts of={of} />
        </dl>
      )}
    </section>
  );
}

const STATES: Readonly<Record<HostedDatabase['state'], StateWord>> = {
  requested: ['Its runner is told', 'busy'],
  provisioning: ['Is brought up', 'busy'],
  ready: ['Ready', 'good'],
  unhealthy: ['Does not answer', 'bad'],
  failed: ['Cannot be brought up', 'bad'],
  deleting: ['Is stopped', 'busy'],
  retained: ['Deleted', 'quiet'],
  lost: ['Nobody looks after it', 'bad'],
  configured: ['For each attempt of a build', 'good'],
};

function Facts({ of: { type, state, image, imageVersion, variable } }: { readonly of: HostedDatabase }) {
  return (
    <>
      <Fact name="State">
        <Standing of={STATES[state]} />
      </Fact>
      <Fact name="Type" of={type} />
      <Fact name="Image">
        <code class="wraps">{`${image}:${imageVersion}`}</code>
      </Fact>
      <Fact name="Variable">
        <code>{variable}</code>
      </Fact>
    </>
  );
}

const BYTES_IN_MB = 1_000_000;

function LastBackup({ of: { backup } }: { readonly of: HostedDatabase }) {
  if (backup?.goodAt === undefined) return <span class="muted">None yet: one is made every day</span>;
  return (
    <>
      <Ago at={backup.goodAt} />
      <span class="muted"> {(backup.bytes / BYTES_IN_MB).toFixed(1)} MB, on its machine</span>
    </>
  );
}
