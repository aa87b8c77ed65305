/**
 * Writes scopes.md, which says what each scope allows, which roles hold it on their team, and which
 * operations need it.
 */
import type { Surface, SurfaceRpc } from '../../proto/generators/surface.ts';
import { code, page, table } from './markdown.ts';

/** Scopes by role, weakest role first. */
export type Granted = readonly { readonly role: string; readonly scopes: ReadonlySet<string> }[];

export function scopesPage({ scopes, rpcs }: Surface, granted: Granted): string {
  const all = Object.values(rpcs);
  const overview = Object.entries(scopes).map(([scope, meaning]) => [
    code(scope),
    meaning,
    granted
      .filter((role) => role.scopes.has(scope))
      .map(({ role }) => role)
      .join(', '),
  ]);
  const needs = Object.keys(scopes).flatMap((scope) => {
    const rows = all.filter((rpc) => scopeOf(rpc) === scope).map(row);
    return rows.length === 0 ? [] : [`## ${code(scope)}`, table(OPERATION, rows)];
  });
  const none = all
    .filter((rpc) => ['required', 'session'].includes(rpc.auth) && scopeOf(rpc) === undefined)
    .map(row);
  return page('Scopes', ABOUT, [
    table(['scope', 'what it allows', 'roles that hold it on their team'], overview),
    ...needs,
    '## No scope',
    'These need a credential and no scope: they act on the account itself, or membership is enough.',
    table(OPERATION, none),
  ]);
}

const ABOUT =
  'An API key has a list of scopes; a session has all that its account may have, except `ci:write`, which is for CI credentials. On a team a call also needs what the role of the account there grants: the key narrows the role and never widens it.';
/** An operation for staff alone needs their scope without saying so. */
function scopeOf({ auth, scope }: SurfaceRpc): string | undefined {
  return scope ?? (auth === 'staff' ? 'staff' : undefined);
}

const OPERATION = ['operation', 'SDK', 'command', 'least role', 'in a session alone', 'agents'];

function row(rpc: SurfaceRpc): string[] {
  return [
    code(rpc.routes[0]?.route ?? ''),
    code(rpc.sdk ? `sdk.${rpc.sdk.method}` : ''),
    code(rpc.cli ? `svc ${rpc.cli.command}` : ''),
    rpc.role ?? '',
    inPerson(rpc),
    ofAgents(rpc),
  ];
}

/** Says that no agent may call it, or the action that is approved each time. */
function ofAgents({ agents, approval }: SurfaceRpc): string {
  return agents ?? (approval === undefined ? '' : `approval of ${code(approval)}`);
}

/** Says whether an operation takes a session alone, or names those of its fields that do. */
function inPerson({ auth, sessionOnly, sessionFields = [] }: SurfaceRpc): string {
  return sessionOnly === true || auth === 'session' ? 'yes' : sessionFields.map(code).join(', ');
}
