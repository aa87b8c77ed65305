/**
 * This is the version of package.json; a test compares them. Alone in its file so that `svc --version` loads
 * nothing else.
 */
export const CLI_VERSION = '0.10.0';
