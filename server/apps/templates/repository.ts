/** Addresses of repositories are shown to whoever sees a template, so that no credentials are in them. */

/** Returns an address without what may be a credential: password, query and, but for SSH, the user name. */
export function plainRepository(repository: string): string {
  if (!URL.canParse(repository)) return repository.replace(/[?#].*$/, '');
  const url = new URL(repository);
  url.password = '';
  url.search = '';
  url.hash = '';
  if (url.protocol !== 'ssh:') url.username = '';
  return url.href;
}

/** Says whether an address holds what others must not see. */
export function hasCredentials(repository: string): boolean {
  if (!URL.canParse(repository)) return /[?#]/.test(repository);
  const { username, password, search, hash, protocol } = new URL(repository);
  return password !== '' || search !== '' || hash !== '' || (username !== '' && protocol !== 'ssh:');
}
