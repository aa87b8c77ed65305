import { describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../access/auth/index.ts';
import type { Caller } from './context.ts';
import { assertMayGrantRole } from './grants.ts';
import { KEY_SCOPE, ROLES, scopesOf, STAFF_SCOPE, TEAM_SCOPES } from './scopes.ts';

const all = [...TEAM_SCOPES, KEY_SCOPE, STAFF_SCOPE];
const caller = (kind: Caller['kind'], scopes: Iterable<string>): Caller => ({
  ...ANONYMOUS,
  kind,
  staff: true,
  scopes: new Set(scopes),
});

describe('assertMayGrantRole()', () => {
  it('lets a session give what its person may give', () => {
    for (const role of ROLES) assertMayGrantRole(caller('session', []), role);
  });

  it.each(['api_key', 'ci_job'] as const)(
    'lets a %s make neither owners nor admins, whatever it holds',
    (kind) => {
      for (const role of ['admin', 'owner'] as const)
        expect(() => assertMayGrantRole(caller(kind, all), role)).toThrow(/made with a session/);
    },
  );

  it.each(['viewer', 'developer'] as const)(
    'lets a key give %s only with every scope that it brings',
    (role) => {
      const needed = [...scopesOf(role)];
      assertMayGrantRole(caller('api_key', needed), role);
      for (const one of needed)
        expect(() =>
          assertMayGrantRole(
            caller(
              'api_key',
              all.filter((scope) => scope !== one),
            ),
            role,
          ),
        ).toThrow(one);
    },
  );
});
