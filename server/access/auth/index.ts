export { ANONYMOUS, createAuthenticator } from './authenticate.ts';
export type { Authenticator } from './authenticate.ts';
export { concerns } from './credential-cache.ts';
export type { Proven } from './credential-cache.ts';
export { ID_TOKEN_BYTES_MAX } from './job-credentials.ts';
export type { JobCredentials } from './job-credentials.ts';
export { SESSION_COOKIE } from './presented.ts';
