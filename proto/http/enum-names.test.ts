import { describe, expect, it } from 'vitest';
import { enumPrefix, enumValueJson } from './enum-names.ts';

describe('enumValueJson()', () => {
  it.each([
    ['RUN_STATE_RUNNING', 'RunState', undefined, 'running'],
    ['END_REASON_LEASE_LOST', 'EndReason', undefined, 'lease_lost'],
    ['OIDC_ISSUER_GITLAB', 'OIDCIssuer', undefined, 'gitlab'],
    ['TARGET_SDK_TYPESCRIPT', 'Target', 'sdk-typescript', 'sdk-typescript'],
    ['SCOPE_RUN_READ', 'Scope', 'run:read', 'run:read'],
    ['UNPREFIXED', 'Word', undefined, 'unprefixed'],
    ['WORD_ONE', 'Word', '', 'one'],
  ])('spells %s of %s (option %s) as %s', (value, name, option, json) => {
    expect(enumValueJson(value, name, option)).toBe(json);
  });
});

describe('enumPrefix()', () => {
  it.each([
    ['RunState', 'RUN_STATE_'],
    ['OIDCIssuer', 'OIDC_ISSUER_'],
    ['Health', 'HEALTH_'],
    ['Sha256Kind', 'SHA256_KIND_'],
  ])('of %s is %s', (name, prefix) => {
    expect(enumPrefix(name)).toBe(prefix);
  });
});
