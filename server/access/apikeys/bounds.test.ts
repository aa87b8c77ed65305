import { describe, expect, it } from 'vitest';
import { NAMELESS, type Caller } from '../../kit/context.ts';
import { BY_NAME_ALONE, KEY_SCOPE, STAFF_SCOPE, TEAM_SCOPES } from '../../kit/scopes.ts';
import { boundedScopes, boundedTeam, seesStaffKeys } from './bounds.ts';

const caller = (of: Partial<Caller>): Caller => ({
  kind: 'api_key',
  userId: 'user_1',
  credentialId: 'key_1',
  staff: true,
  scopes: new Set(),
  names: NAMELESS,
  memberships: new Map([
    ['team_a', 'owner'],
    ['team_b', 'viewer'],
  ]),
  ...of,
});

describe('boundedScopes()', () => {
  it('gives a key no scope that the calling key does not hold, for every single one', () => {
    const all = [...TEAM_SCOPES, KEY_SCOPE, STAFF_SCOPE];
    for (const held of all)
      for (const asked of all) {
        const give = () => boundedScopes(caller({ scopes: new Set([held]) }), [asked]);
        if (asked === held) expect(give()).toEqual([asked]);
        else expect(give, `${asked} from ${held}`).toThrow(asked);
      }
  });

  it.each(['session', 'api_key'] as const)(
    'gives nothing that must be asked for by name unasked, from a %s',
    (kind) => {
      const scopes = new Set([...TEAM_SCOPES, KEY_SCOPE, STAFF_SCOPE]);
      const given = boundedScopes(caller({ kind, scopes }), []);
      expect(given).toEqual(TEAM_SCOPES.filter((scope) => !BY_NAME_ALONE.has(scope)).toSorted());
      expect(given).not.toContain('release:approve');
    },
  );

  it('lets a person give key:manage, and staff only to staff', () => {
    const person = caller({ kind: 'session' });
    expect(boundedScopes(person, [KEY_SCOPE, STAFF_SCOPE])).toEqual([KEY_SCOPE, STAFF_SCOPE]);
    expect(() => boundedScopes({ ...person, staff: false }, [STAFF_SCOPE])).toThrow(STAFF_SCOPE);
  });
});

describe('boundedTeam()', () => {
  it('keeps to the team of a narrowed key', () => {
    const narrowed = caller({ onlyTeamId: 'team_a', memberships: new Map([['team_a', 'owner']]) });
    expect(boundedTeam(narrowed, undefined)).toBe('team_a');
    expect(() => boundedTeam(narrowed, 'team_b')).toThrow('team');
  });

  it('narrows to teams of the account alone', () => {
    expect(boundedTeam(caller({}), 'team_b')).toBe('team_b');
    expect(() => boundedTeam(caller({}), 'team_c')).toThrow('team');
  });
});

it('hides staff keys from keys without the staff scope, staff account or not', () => {
  expect(seesStaffKeys(caller({ scopes: new Set([KEY_SCOPE]) }))).toBe(false);
  expect(seesStaffKeys(caller({ scopes: new Set([KEY_SCOPE, STAFF_SCOPE]) }))).toBe(true);
  expect(seesStaffKeys(caller({ kind: 'session' }))).toBe(true);
});
