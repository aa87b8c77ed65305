export function bundleConsole(options?: { readonly sourcemap?: boolean }): Promise<Map<string, Uint8Array>>;
export function buildConsole(options: {
  readonly outDir: string;
  readonly sourcemap?: boolean;
}): Promise<void>;
