/** This is the version of package.json; a test compares them. */
export const SDK_VERSION = '0.10.0';
