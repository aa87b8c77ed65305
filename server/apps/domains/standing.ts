/**
 * The state of a domain follows from its row, from where its environment is and from who has proved the name.
 * It is told with the one sentence that helps, and stored nowhere.
 */
import type { RowOf } from '../../kit/resource/index.ts';
import { poolOf, type Place, type Proof } from './facts.ts';
import type { domains, ObservedDns } from './schema.ts';

export type Domain = RowOf<typeof domains>;
type State = 'pending_verification' | 'pending_deploy' | 'active' | 'external' | 'conflicting';

export interface Standing {
  readonly state: State;
  readonly hint: string | null;
}

const CHANGES_SLOWLY = 'a new record can take some minutes to be seen';

/** Says whether a record is to be set before the service's machines serve the name. */
export function needsProof(row: Pick<Domain, 'teamId'>, place: Place, { owner }: Proof): boolean {
  return place.inServicePool && owner !== row.teamId;
}

export function standingOf(row: Domain, place: Place, proof: Proof): Standing {
  const isUnproved = needsProof(row, place, proof);
  if (isUnproved && proof.owner !== null) return { state: 'conflicting', hint: OF_ANOTHER_TEAM };
  if (row.poolKey !== poolOf(place)) return { state: 'conflicting', hint: OF_ANOTHER_ENVIRONMENT };
  if (place.runnerId !== null && !place.hasEdge) return { state: 'external', hint: withoutEdge(place) };
  if (isUnproved) return { state: 'pending_verification', hint: proof.problem ?? SET_THE_RECORD };
  if (!place.isDeployed) return { state: 'pending_deploy', hint: beforeDeploy(place) };
  if (row.observedAt === null) return { state: 'pending_deploy', hint: UNHEARD };
  return { state: 'active', hint: row.certificate?.problem ?? hintOfDns(row.dns) };
}

const OF_ANOTHER_TEAM =
  'another team has proved this name; it is served here once your record is found and theirs is gone';
const OF_ANOTHER_ENVIRONMENT =
  'another environment of the team has this name on the same machine; delete it there, then add it here again';
const SET_THE_RECORD = `set the TXT record that is shown, then verify; ${CHANGES_SLOWLY}`;
const UNHEARD = 'the runner has not said yet that it serves the name';

/** Says how a runner comes to serve names of such apps. */
export function edgeAdvice({ kind, target }: Pick<Place, 'kind' | 'target'>): string {
  return (kind ?? target) === 'dokku'
    ? 'the app is deployed to Dokku, and its runner does not lead names to it: its operator needs Dokku on that machine, which serves the names of its apps, and a runner that says so'
    : 'the runner of the environment has no edge: its operator starts svc-runner with --edge nginx';
}

/** Says how a machine that serves names comes to have certificates for them. */
export function issuerAdvice({ kind }: Pick<Place, 'kind'>): string {
  return kind === 'dokku'
    ? 'Dokku on the machine has no plugin letsencrypt: its operator installs it and starts the runner again'
    : 'the edge of the runner has no authority that issues certificates: its operator gives it one with --acme-directory';
}

function withoutEdge(place: Place): string {
  const { address } = place;
  const lead = address === null ? 'the app' : address;
  return `${edgeAdvice(place)}; until then a proxy of your own leads the name to ${lead}`;
}

function beforeDeploy({ target }: Place): string {
  return target === null
    ? 'the environment has no deploy target; set one, then build'
    : 'it is served from the first deploy on';
}

function hintOfDns(dns: ObservedDns | null): string | null {
  if (dns === null) return null;
  const { state, expected, seen } = dns;
  const wanted = expected.length === 0 ? '' : `, expected ${expected.join(' or ')}`;
  if (state === 'missing') return `the name has no address${wanted}: set an A or AAAA record`;
  if (state === 'wrong') return `the name leads to ${seen.join(', ') || 'another machine'}${wanted}`;
  return null;
}
