// A server on the TypeScript SDK over stdio: node stdio.mjs FEATURE.
import { z } from 'zod';
import { loadServer } from './typescript.mjs';

const { McpServer, StdioServerTransport } = await loadServer();
const text = value => ({ content: [{ type: 'text', text: value }] });
const create = capabilities => new McpServer({ name: 'released', version: '1.0.0' }, capabilities && { capabilities });

const features = {
  // One tool with an argument.
  repeat() {
    const server = create();
    const inputSchema = z.object({ words: z.string() });
    server.registerTool('repeat', { description: 'Repeats words', inputSchema }, ({ words }) => text(words));
    return server;
  },

  // A prompt whose argument has a completer. No capability is given by hand.
  async completer() {
    const { completable } = await import('@modelcontextprotocol/sdk/server/completable.js');
    const server = create();
    const towns = ['Bergen', 'Bremen', 'Oslo'];
    const town = completable(z.string(), start => towns.filter(name => name.startsWith(start)));
    server.prompt('travel', { town }, ({ town }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Plan a day in ${town}.` } }],
    }));
    return server;
  },

  // A tool that logs at two levels.
  logger() {
    const server = create({ logging: {} });
    server.tool('count', async () => {
      await server.server.sendLoggingMessage({ level: 'debug', data: 'counting' });
      await server.server.sendLoggingMessage({ level: 'critical', data: 'counted' });
      return text('3');
    });
    return server;
  },

  // One resource that can be read.
  resource() {
    const server = create();
    server.registerResource('plan', 'notes://plan', { description: 'A plan' }, uri => ({
      contents: [{ uri: uri.href, text: 'Buy seeds.' }],
    }));
    return server;
  },

  // A tool whose author passes JSON Schema where the SDK takes zod. The fixed
  // release refuses that; the tool is then given as zod.
  'json-schema'() {
    const server = create();
    const double = ({ value }) => text(String(2 * value));
    const schema = { type: 'object', properties: { value: { type: 'number' } }, required: ['value'] };
    try {
      server.tool('double', 'Doubles a number', schema, double);
    } catch {
      server.tool('double', 'Doubles a number', { value: z.number() }, double);
    }
    return server;
  },

  // A server whose author turns listChanged off.
  'fixed-tools'() {
    const server = create({ tools: { listChanged: false } });
    server.registerTool('greet', { description: 'Greets' }, () => text('Hello'));
    return server;
  },
};

const server = await features[process.argv[2]]();
await server.connect(new StdioServerTransport());
