export declare function buildSdk(options?: {
  readonly outDir?: string;
  readonly types?: boolean;
}): Promise<void>;
