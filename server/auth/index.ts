export { ANONYMOUS, createAuthenticator } from './authenticate.ts';
export type { Authenticator } from './authenticate.ts';
export { concerns } from './credential-cache.ts';
export { SESSION_COOKIE } from './presented.ts';
