/** How long a caller said that it waits, from its own header; undefined when it did not say, or not readably. */
export function callerLimitMs(call: { header(name: string): string | undefined }): number | undefined {
  const connect = /^\d{1,10}$/.exec(call.header('connect-timeout-ms') ?? '');
  if (connect !== null) return Number(connect[0]);
  const grpc = /^(\d{1,8})([HMSmun])$/.exec(call.header('grpc-timeout') ?? '');
  if (grpc === null) return undefined;
  return Number(grpc[1]) * (MS_OF_UNIT[grpc[2] ?? ''] ?? 1);
}

const MS_OF_UNIT: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };
