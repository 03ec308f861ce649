// A server without an SDK, for the gateways to start: it has one tool and answers each request.
import { createInterface } from 'node:readline';

const repeat = { name: 'repeat', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };

const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: revisions.includes(protocolVersion) ? protocolVersion : revisions.at(-1),
    capabilities: { tools: {} },
    serverInfo: { name: 'bare', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': ({ cursor }) => (cursor === undefined ? { tools: [repeat] } : null),
  'tools/call': ({ name }) => (name === repeat.name ? { content: [{ type: 'text', text: 'Hello' }] } : null),
};

// What the answer to a request carries: a result, or an error.
function answer(method, params) {
  if (!Object.hasOwn(methods, method)) {
    return { error: { code: -32601, message: 'Method not found' } };
  }
  const result = methods[method](params ?? {});
  return result ? { result } : { error: { code: -32602, message: 'Invalid params' } };
}

for await (const line of createInterface({ input: process.stdin })) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    continue;
  }
  const { id, method, params } = message;
  if (id !== undefined && method !== undefined) {
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...answer(method, params) }) + '\n');
  }
}
