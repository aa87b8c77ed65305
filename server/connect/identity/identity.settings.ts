/** Id_tokens of CI jobs: the issuers that are taken, and the audience that the tokens must have. */
import { optional, parts, text, Wrong } from '@svc/proto/process/settings.ts';
import { isDefaultAudience, parseIssuers, type Issuer } from './issuers.ts';

export const settings = {
  oidcAudience: optional('OIDC_AUDIENCE', {
    about: 'Audience that id_tokens of CI jobs must be made for.',
    type: 'text',
    absent: 'the first public address',
    parse: (given) =>
      isDefaultAudience(given)
        ? new Wrong(
            `is "${given}", which every id_token of GitHub or GitLab has that names no audience; expected one of this service alone, such as its address`,
          )
        : given,
  }),
  oidcIssuers: text('OIDC_ISSUERS', {
    about:
      'Replaces the issuers of id_tokens, which are fixed, in tests; it needs `WEBHOOKS_ALLOW_PRIVATE=true`.',
    type: 'issuers, separated by commas',
    fallback: '',
    parse: readIssuers,
  }),
};

function readIssuers(given: string): readonly Issuer[] | Wrong {
  const issuers = parseIssuers(parts(given));
  return typeof issuers === 'string' ? new Wrong(issuers) : issuers;
}
