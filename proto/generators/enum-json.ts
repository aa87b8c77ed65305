/** JSON spelling of enum values: the documented words, while protos keep prefixed names. */

/** `(RUN_STATUS_RUNNING, RunStatus)` is `running`; the value option of the contract wins. */
export function enumValueJson(valueName: string, enumName: string, option: string | undefined): string {
  if (option !== undefined && option !== '') return option;
  const prefix = enumPrefix(enumName);
  return (valueName.startsWith(prefix) ? valueName.slice(prefix.length) : valueName).toLowerCase();
}

/** `RunStatus` is `RUN_STATUS_`, `OIDCIssuer` is `OIDC_ISSUER_`: as buf lint wants value names to begin. */
export function enumPrefix(enumName: string): string {
  const snake = enumName.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3_$2$4');
  return `${snake.toUpperCase()}_`;
}
