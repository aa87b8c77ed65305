/**
 * Finds the credentials in the daemon's own environment, which must never appear in a task's output or in a
 * message.
 */

const NAMES = /(?:PASSWORD|SECRET|TOKEN|PRIVATE_KEY|ACCESS_KEY|API_KEY|CREDENTIALS)$/i;
const PROXY = /^(?:https?|all)_proxy$/i;

export function ownSecrets(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || value === '') return [];
    if (NAMES.test(name)) return [value];
    return PROXY.test(name) && URL.canParse(value) ? passwordOf(new URL(value)) : [];
  });
}

function passwordOf(url: URL): string[] {
  return url.password === '' ? [] : [url.password, decodeURIComponent(url.password)];
}
