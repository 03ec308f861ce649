// Serves what createServer makes over HTTP, wired as the guide of the TypeScript SDK v1 does it.
import { randomUUID } from 'node:crypto';
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';

const refuse = (res, status, code, message) => res.status(status).json({ jsonrpc: '2.0', error: { code, message }, id: null });

// Streamable HTTP without sessions: a server for each request.
function stateless(createServer, enableJsonResponse) {
  return async (req, res) => {
    if (req.method !== 'POST') {
      refuse(res, 405, -32000, 'Method not allowed.');
      return;
    }
    const server = createServer(false);
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse });
    res.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(req, res, req.body);
  };
}

// Streamable HTTP with sessions: a server for each, which lasts until its transport closes.
function stateful(createServer, enableJsonResponse) {
  const transports = new Map();
  return async (req, res) => {
    const id = req.headers['mcp-session-id'];
    let transport = transports.get(id);
    if (!transport && id) {
      refuse(res, 404, -32001, 'Session not found');
      return;
    }
    if (!transport) {
      if (req.method !== 'POST' || !isInitializeRequest(req.body)) {
        refuse(res, 400, -32000, 'Bad Request: No valid session ID provided');
        return;
      }
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse,
        eventStore: new InMemoryEventStore(),
        onsessioninitialized: made => transports.set(made, transport),
      });
      transport.onclose = () => transports.delete(transport.sessionId);
      await createServer().connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
  };
}

export function serveHttp(createServer, port, { stateless: noSessions = false, json = false }) {
  const app = createMcpExpressApp();
  app.all('/mcp', (noSessions ? stateless : stateful)(createServer, json));

  const transports = new Map();
  app.get('/sse', async (req, res) => {
    const transport = new SSEServerTransport('/messages', res);
    transports.set(transport.sessionId, transport);
    res.on('close', () => transports.delete(transport.sessionId));
    await createServer().connect(transport);
  });
  app.post('/messages', async (req, res) => {
    const transport = transports.get(req.query.sessionId);
    if (!transport) {
      res.status(400).send('No transport found for sessionId');
      return;
    }
    await transport.handlePostMessage(req, res, req.body);
  });
  app.listen(port, '127.0.0.1');
}
