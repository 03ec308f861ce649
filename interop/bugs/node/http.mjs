// A server on the TypeScript SDK v1 over streamable HTTP with sessions: node http.mjs PORT FEATURE.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const [port, feature] = process.argv.slice(2);

// Keeps every event of a stream, so that the stream can be resumed.
class EventStore {
  events = [];

  async storeEvent(stream, message) {
    this.events.push({ stream, message });
    return String(this.events.length);
  }

  async replayEventsAfter(last, { send }) {
    const from = Number(last);
    const { stream } = this.events[from - 1];
    for (let k = from; k < this.events.length; k++) {
      if (this.events[k].stream === stream) {
        await send(String(k + 1), this.events[k].message);
      }
    }
    return stream;
  }
}

const options = {
  plain: {},
  resumable: { eventStore: new EventStore() },
  origins: {
    enableDnsRebindingProtection: true,
    allowedHosts: [`127.0.0.1:${port}`],
    allowedOrigins: [`http://127.0.0.1:${port}`],
  },
}[feature];

const sessions = new Map();

async function open() {
  const transport = new StreamableHTTPServerTransport({
    ...options,
    sessionIdGenerator: randomUUID,
    onsessioninitialized: id => sessions.set(id, transport),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  const server = new McpServer({ name: 'released', version: '1.0.0' });
  server.tool('repeat', { words: z.string() }, ({ words }) => ({ content: [{ type: 'text', text: words }] }));
  await server.connect(transport);
  return transport;
}

const http = createServer(async (request, response) => {
  if (new URL(request.url, 'http://127.0.0.1').pathname !== '/mcp') {
    response.writeHead(404).end();
    return;
  }
  const id = request.headers['mcp-session-id'];
  if (id && !sessions.has(id)) {
    const error = { code: -32001, message: 'Session not found' };
    response.writeHead(404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
    return;
  }
  const transport = id ? sessions.get(id) : await open();
  await transport.handleRequest(request, response);
});
http.listen(Number(port), '127.0.0.1');
