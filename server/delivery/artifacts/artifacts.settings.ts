/** What statements about artifacts are called. */
import { address, text } from '@svc/proto/process/settings.ts';

export const settings = {
  attestationTypeBase: text('ATTESTATION_TYPE_BASE', {
    about:
      'Beginning of the types of statements that this installation makes up itself. Policies of others name them: choose it once and keep it.',
    type: 'http(s) address',
    fallback: 'https://svc.example/attestations',
    parse: address('http:', 'https:'),
  }),
};
