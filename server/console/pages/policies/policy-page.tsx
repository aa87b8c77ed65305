/** Shows one policy: its document to be changed and tried, and what it decided. */
import { useSignal } from '@preact/signals';
import type { Policy } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { Ask } from '../../ask.tsx';
import { Button } from '../../button.tsx';
import { invalidate, useRead } from '../../cache.ts';
import { Standing } from '../../fact.tsx';
import { Missing } from '../../missing.tsx';
import { Notice } from '../../notice.tsx';
import type { PageProps } from '../../page.ts';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { isAdmin, roleIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { useTitlePart } from '../../title.ts';
import { policies, POLL_MS } from './calls.ts';
import { loadTexts } from './checking.ts';
import { Decisions } from './decisions.tsx';
import { DocumentForm } from './document-form.tsx';
import { readScopes, Scope, type Scopes } from './scopes.tsx';
import { standing } from './words.ts';

interface Known {
  readonly policy: Policy;
  /** Its document, as the editor shows it. */
  readonly text: string;
  readonly scopes: Scopes;
}

export function PolicyPage({ place: { team, rest }, session }: PageProps) {
  const [, policyId = '', tab] = rest;
  if (team === undefined) return null;
  const isManager = isAdmin(roleIn(session, team.id));
  return <Whole key={policyId} {...{ policyId, tab, isManager }} teamId={team.id} />;
}

interface WholeProps {
  readonly teamId: string;
  readonly policyId: string;
  readonly tab: string | undefined;
  readonly isManager: boolean;
}

async function readPolicy(teamId: string, policyId: string): Promise<Known | undefined> {
  const policy = await ifMissing(undefined, async () => await policies.get(teamId, policyId));
  if (policy === undefined) return undefined;
  const [{ textOf }, scopes] = await Promise.all([loadTexts(), readScopes(teamId, [policy])]);
  return { policy, scopes, text: textOf(policy.document ?? {}) };
}

function Whole({ teamId, policyId, tab, isManager }: WholeProps) {
  const read = useRead<{ known: Known | undefined }>(
    `policy ${teamId} ${policyId}`,
    async () => ({ known: await readPolicy(teamId, policyId) }),
    POLL_MS,
  );
  const { known } = read.data.value ?? {};
  useTitlePart(known?.policy.name);
  if (read.data.value === undefined) return <Unread of={read} what="the policy" />;
  if (known === undefined) return <Missing />;
  const { policy, text } = known;
  return (
    <>
      <StaleNotice of={read} />
      <Head of={known} isManager={isManager} />
      <Tabs href={teamHref(teamId, 'policies', policyId)} tab={tab} />
      {tab === 'decisions' ? (
        <Decisions teamId={teamId} policyId={policyId} />
      ) : (
        <DocumentForm
          policy={policy}
          saved={text}
          isManager={isManager}
          onSaved={async () => await read.load()}
        />
      )}
    </>
  );
}

function Head({ of: { policy, scopes }, isManager }: { readonly of: Known; readonly isManager: boolean }) {
  const { id, teamId, name, enabled, revision, createdAt, scopeDeleted } = policy;
  const isAsked = useSignal(false);
  return (
    <div class="item-head">
      <div>
        <h1>{name}</h1>
        <p class="policy-facts">
          <Standing of={standing(policy)} />
          <span>Mode {String(policy.document?.['mode'])}</span>
          <span>
            About: <Scope of={policy} among={scopes} isLink />
          </span>
          <span>Revision {revision}</span>
          <span>
            Created <Ago at={createdAt} />
          </span>
          {isManager && (
            <a href={`${teamHref(teamId, 'audit')}?target=${id}`} onClick={follow}>
              History
            </a>
          )}
        </p>
      </div>
      {isManager && (enabled || !scopeDeleted) && (
        <Button
          text={enabled ? 'Disable' : 'Enable'}
          look={enabled ? 'danger small' : 'small'}
          onClick={() => (isAsked.value = true)}
        />
      )}
      {isAsked.value && <Switch policy={policy} onClose={() => (isAsked.value = false)} />}
    </div>
  );
}

function Switch({ policy, onClose }: { readonly policy: Policy; readonly onClose: () => void }) {
  const { id, teamId, name, enabled, document } = policy;
  const on = document?.['on'];
  const acts = Array.isArray(on) ? on.map(String) : [];
  const act = async (): Promise<string> => {
    await (enabled ? policies.disable(teamId, id) : policies.enable(teamId, id));
    invalidate();
    return `${name} is ${enabled ? 'disabled' : 'enabled'}.`;
  };
  return (
    <Ask
      title={enabled ? 'Disable the policy?' : 'Enable the policy?'}
      verb={enabled ? 'Disable' : 'Enable'}
      danger={enabled}
      act={act}
      onClose={onClose}
    >
      <p>
        {enabled
          ? 'From now on nothing is judged by it. The ledger keeps who disabled it.'
          : `From now on it judges ${acts.join(', ')}. ${MODES[String(document?.['mode'])] ?? ''}`}
      </p>
      {!enabled && document?.['mode'] === 'enforce' && (
        <Notice kind="plain">“Simulate” says what it would have refused of what has passed.</Notice>
      )}
    </Ask>
  );
}

const MODES: Readonly<Record<string, string>> = {
  enforce: 'An act that breaks a rule is refused.',
  warn: 'An act that breaks a rule goes on, with a warning.',
  audit: 'An act that breaks a rule goes on, and is recorded.',
};

function Tabs({ href, tab }: { readonly href: string; readonly tab: string | undefined }) {
  return (
    <nav class="tabs" aria-label="Parts">
      <a href={href} aria-current={tab === undefined ? 'page' : undefined} onClick={follow}>
        Document
      </a>
      <a href={`${href}/decisions`} aria-current={tab === 'decisions' ? 'page' : undefined} onClick={follow}>
        Decisions
      </a>
    </nav>
  );
}
