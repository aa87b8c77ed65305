/**
 * The issuers whose id_tokens are taken: two of them, each with the one address of its keys. Neither is ever
 * learnt from a token. Their kin, which customers may well have, are refused by name, so that nobody looks
 * for the fault elsewhere.
 */
import type { CiJob } from '../../kit/context.ts';

export type OidcProvider = CiJob['provider'];

export interface Issuer {
  readonly provider: OidcProvider;
  /** Compared as it stands, to the last slash. */
  readonly issuer: string;
  readonly jwksUrl: string;
}

export const ISSUERS: readonly Issuer[] = [
  {
    provider: 'github',
    issuer: 'https://token.actions.githubusercontent.com',
    jwksUrl: 'https://token.actions.githubusercontent.com/.well-known/jwks',
  },
  { provider: 'gitlab', issuer: 'https://gitlab.com', jwksUrl: 'https://gitlab.com/oauth/discovery/keys' },
];

/**
 * `github=<issuer> <address of its keys>`, and the same for gitlab, separated by commas: an issuer of a test
 * in place of a real one. Returns the problem as a text when they cannot be read.
 */
export function parseIssuers(entries: readonly string[]): readonly Issuer[] | string {
  const replaced: Issuer[] = [];
  for (const entry of entries) {
    const [, provider = '', issuer = '', jwksUrl = ''] = /^(github|gitlab)=(\S+) +(\S+)$/.exec(entry) ?? [];
    if (!URL.canParse(issuer) || !URL.canParse(jwksUrl))
      return `holds "${entry}", expected github= or gitlab=, an issuer, a space and the address of its keys`;
    replaced.push({ provider: provider as OidcProvider, issuer, jwksUrl });
  }
  return ISSUERS.map((real) => replaced.find(({ provider }) => provider === real.provider) ?? real);
}

/** Audiences that id_tokens have unless a job asks for another: such a token was made for anybody. */
export function isDefaultAudience(audience: string): boolean {
  return /^https:\/\/(github|gitlab)\.com(\/[^/]*)?$/i.test(audience);
}

/** Says why the tokens of this issuer are not taken. */
export function issuerProblem(issuer: string, claims: Readonly<Record<string, unknown>>): string {
  const [github] = ISSUERS;
  if (/^https:\/\/[^/]+\/_services\/token\/?$/.test(issuer))
    return 'it is of a GitHub Enterprise Server, and only GitHub.com is taken; report with an API key';
  if (/^https:\/\/token\.actions\.[^./]+\.ghe\.com(\/|$)/.test(issuer))
    return 'it is of GitHub Enterprise Cloud with data residency (ghe.com), and only GitHub.com is taken; report with an API key';
  if (github !== undefined && issuer.startsWith(`${github.issuer}/`))
    return 'the enterprise has added its name to the issuer (include_enterprise_slug), and only the plain one is taken; switch that off, or report with an API key';
  if ('project_path' in claims || 'pipeline_id' in claims)
    return 'it is of a self-managed GitLab, and only GitLab.com is taken; report with an API key';
  return `only ${ISSUERS.map((each) => each.issuer).join(' and ')} are taken`;
}
