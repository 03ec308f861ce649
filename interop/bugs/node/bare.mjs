// A server without an SDK, for the gateways to start: it has one tool and answers each request.
import { createInterface } from 'node:readline';

const repeat = { name: 'repeat', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'bare', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [repeat] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'Hello' }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    continue;
  }
  const { id, method, params } = message;
  if (id !== undefined && method !== undefined) {
    const answer = methods[method]
      ? { result: methods[method](params ?? {}) }
      : { error: { code: -32601, message: 'Method not found' } };
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer }) + '\n');
  }
}
