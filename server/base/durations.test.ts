import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createDurations } from './durations.ts';

it('writes cumulative buckets, sum and count for each combination of labels', async () => {
  const registry = new Registry();
  const durations = createDurations('t', 'help text');
  registry.registerMetric(durations.metric);
  for (const ms of [0.5, 1, 3, 100_000]) durations.observe({ rpc: 'a/B', protocol: 'rest', status: 200 }, ms);
  durations.observe({ rpc: 'a/B', protocol: 'grpc', status: 404 }, 7);
  const lines = (await registry.metrics()).split('\n');
  expect(lines).toContain('# TYPE t histogram');
  expect(lines).toContain('t_bucket{le="0.001",rpc="a/B",protocol="rest",status="200"} 2');
  expect(lines).toContain('t_bucket{le="0.005",rpc="a/B",protocol="rest",status="200"} 3');
  expect(lines).toContain('t_bucket{le="60",rpc="a/B",protocol="rest",status="200"} 3');
  expect(lines).toContain('t_bucket{le="+Inf",rpc="a/B",protocol="rest",status="200"} 4');
  expect(lines).toContain('t_count{rpc="a/B",protocol="rest",status="200"} 4');
  expect(lines).toContain('t_sum{rpc="a/B",protocol="rest",status="200"} 100.0045');
  expect(lines).toContain('t_count{rpc="a/B",protocol="grpc",status="404"} 1');
});
