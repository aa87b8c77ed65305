/**
 * The public surface of the contracts as sorted plain data, and what is a breaking change of it. `buf
 * breaking` sees messages alone: a moved path, a renamed SDK method, another order of arguments or a tighter
 * scope breaks customers as surely, and only shows here. Preview and experimental RPCs may change; they are
 * listed and not compared.
 */

import { withArticle } from '../http/article.ts';

export interface Surface {
  /** Areas and scopes with their meaning, in the order of the contracts. */
  readonly areas: Readonly<Record<string, string>>;
  readonly scopes: Readonly<Record<string, string>>;
  readonly rpcs: Readonly<Record<string, SurfaceRpc>>;
  readonly messages: Readonly<Record<string, Readonly<Record<string, SurfaceField>>>>;
  /** JSON spellings. */
  readonly enums: Readonly<Record<string, readonly string[]>>;
}

export interface SurfaceRpc {
  readonly audience: string;
  /** Orders lists, and breaks nobody. */
  readonly area?: string;
  readonly stability: string;
  /** `GET /teams/{teamId}/runners`, primary first. */
  readonly routes: readonly {
    readonly route: string;
    readonly body?: string;
    readonly responseBody?: string;
    /** Parameters that may be given in the query beside a body that is the whole request. */
    readonly query?: readonly string[];
  }[];
  readonly status: number;
  readonly stream: boolean;
  readonly page?: { readonly items: string; readonly maxLimit: number };
  /** Response field with the items of a list that goes by numbers of pages. */
  readonly numbered?: string;
  readonly auth: string;
  readonly idTokens?: boolean;
  /** Beside an `auth` that takes API keys as well. */
  readonly sessionOnly?: boolean;
  /** Request fields, JSON names. */
  readonly sessionFields?: readonly string[];
  readonly scope?: string;
  readonly role?: string;
  /** No agent may call it. */
  readonly agents?: 'never';
  /** Action that a person approves before an agent does it. */
  readonly approval?: string;
  readonly feature?: string;
  readonly inertWhenOff?: true;
  readonly idempotency?: string;
  readonly sdk?: {
    readonly method: string;
    /** `?` at the end marks one that may be left out. */
    readonly args: readonly string[];
    readonly returns?: string;
  };
  readonly cli?: {
    readonly command: string;
    readonly args: readonly string[];
    /** Flag to type. */
    readonly flags: Readonly<Record<string, string>>;
  };
  readonly request: string;
  readonly response: string;
}

export interface SurfaceField {
  readonly type: string;
  /** A caller must send it. */
  readonly required?: true;
  /** A server may leave it out. */
  readonly optional?: true;
  /** Its bare value stands for the message while nothing else of that is set. */
  readonly bare?: true;
}

const STABLE = 'stable';

/** Breaking changes from `before` to `after`, one sentence each, sorted. */
export function compareSurfaces(before: Surface, after: Surface): string[] {
  const changes: string[] = [];
  for (const [id, old] of Object.entries(before.rpcs)) {
    if (old.stability !== STABLE) continue;
    const now = after.rpcs[id];
    if (now) changes.push(...compareRpc(old, now).map((change) => `${id}: ${change}`));
    else changes.push(`${id}: was removed`);
  }
  for (const [name, directions] of messageDirections(before)) {
    const fields = before.messages[name] ?? {};
    const now = after.messages[name];
    // A message that is not reached any more shows as a change of the RPC that reached it.
    if (now) changes.push(...compareFields(fields, now, directions).map((change) => `${name}.${change}`));
  }
  for (const [name, values] of Object.entries(before.enums)) {
    const now = after.enums[name];
    if (!now) continue;
    for (const value of values)
      if (!now.includes(value)) changes.push(`${name}: the value "${value}" was removed`);
  }
  return changes.sort();
}

function compareRpc(old: SurfaceRpc, now: SurfaceRpc): string[] {
  const changes: string[] = [];
  const differ = (what: string, before: unknown, after: unknown) => {
    if (JSON.stringify(before) !== JSON.stringify(after))
      changes.push(`${what} was ${show(before)}, is ${show(after)}`);
  };
  for (const route of old.routes) {
    const same = now.routes.find((candidate) => candidate.route === route.route);
    if (!same) {
      changes.push(`the route ${route.route} was removed`);
      continue;
    }
    differ(`the body of ${route.route}`, [route.body, route.responseBody], [same.body, same.responseBody]);
    for (const name of route.query ?? [])
      if (!same.query?.includes(name))
        changes.push(`the query parameter ${name} of ${route.route} was removed`);
  }
  differ('the audience', old.audience, now.audience);
  differ('the success status', old.status, now.status);
  differ('streaming', old.stream, now.stream);
  differ('the paged field', old.page?.items, now.page?.items);
  differ('the field of numbered pages', old.numbered, now.numbered);
  if (old.page && now.page && now.page.maxLimit < old.page.maxLimit) {
    changes.push(`the largest limit was ${old.page.maxLimit}, is ${now.page.maxLimit}`);
  }
  differ('auth', old.auth, now.auth);
  if (old.idTokens === true) differ('taking id_tokens', old.idTokens, now.idTokens);
  if (now.sessionOnly === true) differ('taking sessions alone', old.sessionOnly, now.sessionOnly);
  for (const name of now.sessionFields ?? [])
    if (!old.sessionFields?.includes(name)) changes.push(`the field ${name} is set in a session alone`);
  if (now.scope !== undefined) differ('the scope', old.scope, now.scope);
  if (now.role !== undefined) differ('the role', old.role, now.role);
  if (now.feature !== undefined) differ('the feature', old.feature, now.feature);
  if (old.inertWhenOff === true)
    differ('answering while its feature is off', old.inertWhenOff, now.inertWhenOff);
  differ('idempotency', old.idempotency, now.idempotency);
  differ('the request', old.request, now.request);
  differ('the response', old.response, now.response);
  if (old.stability === STABLE && now.stability !== STABLE)
    changes.push(`stability was ${STABLE}, is ${now.stability}`);
  return [...changes, ...compareSdk(old.sdk, now.sdk), ...compareCli(old.cli, now.cli)];
}

function compareSdk(old: SurfaceRpc['sdk'], now: SurfaceRpc['sdk']): string[] {
  if (!old) return [];
  if (!now) return [`the SDK method ${old.method} was removed`];
  const changes: string[] = [];
  if (old.method !== now.method) changes.push(`the SDK method was ${old.method}, is ${now.method}`);
  if (old.returns !== now.returns)
    changes.push(`the SDK method returned ${show(old.returns)}, returns ${show(now.returns)}`);
  // Even an optional argument at the end is no addition: `params` and `options` stand behind the arguments.
  const kept =
    old.args.length === now.args.length &&
    old.args.every((arg, index) => accepts(now.args[index] ?? '', arg));
  if (!kept) changes.push(`the SDK arguments were (${old.args.join(', ')}), are (${now.args.join(', ')})`);
  return changes;
}

/**
 * Names of arguments do not count for callers, but a changed name is mostly a changed meaning; `a` may become
 * `a?`.
 */
function accepts(now: string, old: string): boolean {
  return now === old || now === `${old}?`;
}

function compareCli(old: SurfaceRpc['cli'], now: SurfaceRpc['cli']): string[] {
  if (!old) return [];
  if (!now) return [`the command "svc ${old.command}" was removed`];
  const changes: string[] = [];
  if (old.command !== now.command)
    changes.push(`the command was "svc ${old.command}", is "svc ${now.command}"`);
  if (old.args.join(' ') !== now.args.join(' ')) {
    changes.push(`the command arguments were (${old.args.join(', ')}), are (${now.args.join(', ')})`);
  }
  for (const [flag, type] of Object.entries(old.flags)) {
    const other = now.flags[flag];
    if (other === undefined) changes.push(`the flag --${flag} was removed`);
    else if (other !== type)
      changes.push(`the flag --${flag} was ${withArticle(type)}, is ${withArticle(other)}`);
  }
  return changes;
}

type Fields = Readonly<Record<string, SurfaceField>>;

interface Directions {
  sent: boolean;
  received: boolean;
}

function compareFields(old: Fields, now: Fields, directions: Directions): string[] {
  const changes: string[] = [];
  for (const [name, field] of Object.entries(old)) {
    const other = now[name];
    if (!other) {
      changes.push(`${name}: was removed`);
      continue;
    }
    if (other.type !== field.type) changes.push(`${name}: was ${field.type}, is ${other.type}`);
    if (directions.sent && other.required && !field.required) changes.push(`${name}: must be sent now`);
    if (directions.received && other.optional && !field.optional) changes.push(`${name}: may be absent now`);
    if (directions.received && other.bare !== field.bare)
      changes.push(
        `${name}: ${field.bare ? 'stands alone no more' : 'stands alone now'} while nothing else is set`,
      );
  }
  if (!directions.sent) return changes;
  for (const [name, field] of Object.entries(now)) {
    if (field.required && !old[name]) changes.push(`${name}: is new and must be sent`);
  }
  return changes;
}

/** Messages that callers of stable RPCs send and receive. */
function messageDirections(surface: Surface): Map<string, Directions> {
  const found = new Map<string, Directions>();
  const visit = (name: string, direction: keyof Directions) => {
    const fields = surface.messages[name];
    if (!fields) return;
    const directions = found.get(name) ?? { sent: false, received: false };
    if (directions[direction]) return;
    directions[direction] = true;
    found.set(name, directions);
    for (const { type } of Object.values(fields))
      visit(type.replace(/^map<(.*)>$|^(.*)\[\]$/, '$1$2'), direction);
  };
  for (const rpc of Object.values(surface.rpcs)) {
    if (rpc.stability !== STABLE) continue;
    visit(rpc.request, 'sent');
    visit(rpc.response, 'received');
  }
  return found;
}

function show(value: unknown): string {
  return value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
}
