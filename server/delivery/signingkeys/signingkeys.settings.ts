/** Keys that sign statements about artifacts: their age, and where they live. */
import { address, mountPath, number, optional, secret, text, expected } from '@svc/proto/process/settings.ts';

const signingKeyMaxAgeDays = number('SIGNING_KEY_MAX_AGE_DAYS', {
  about: 'A key that signs statements about artifacts is replaced at this age.',
  unit: 'days',
  fallback: 365,
  min: 1,
  max: 3_650,
});

const vault = {
  address: optional('VAULT_ADDR', {
    about:
      'Vault or OpenBao whose Transit engine holds the keys that sign statements about artifacts. Keys that were made before it was set go on to verify.',
    type: 'http(s) address',
    absent: 'the keys are made here and stored under `SECRETS_KEY`',
    parse: address('http:', 'https:'),
  }),
  token: optional('VAULT_TOKEN', {
    about: 'Token for it: it creates, reads and rotates the keys, and signs with them.',
    type: 'secret',
    absent: 'it must be set with `VAULT_ADDR`',
    parse: secret(8),
  }),
  mount: text('VAULT_TRANSIT_MOUNT', {
    about: 'Where the Transit engine is mounted.',
    type: 'path',
    fallback: 'transit',
    parse: mountPath,
  }),
  prefix: text('VAULT_KEY_PREFIX', {
    about:
      'Beginning of the names of the keys: `<prefix>-build-service`, `<prefix>-build-customer`, `<prefix>-platform`.',
    type: 'name',
    fallback: 'svc',
    parse: (given) =>
      /^[\w-]{1,64}$/.test(given)
        ? given
        : expected(given, '1 to 64 letters, digits, "_" and "-", such as svc'),
  }),
};

export const settings = { signingKeyMaxAgeDays, vault };
