// A client on the TypeScript SDK v1: node sdk-v1.mjs COMMAND [ARGUMENT...] starts that server and looks around;
// node sdk-v1.mjs URL does so at a server over streamable HTTP, over HTTP+SSE where the path ends in /sse.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

function transport(command, args) {
  if (!/^https?:/.test(command)) {
    return new StdioClientTransport({ command, args });
  }
  const url = new URL(command);
  return url.pathname.endsWith('/sse') ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

// All pages of one list.
async function all(list, key) {
  const items = [];
  let cursor;
  do {
    const page = await list({ cursor });
    items.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  console.log(`${key}: ${items.length}`);
  return items;
}

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: sdk-v1.mjs COMMAND [ARGUMENT...] | URL');
  process.exit(2);
}

const client = new Client({ name: 'interop-sdk-v1', version: '1.0.0' });
await client.connect(transport(command, args));
try {
  const capabilities = client.getServerCapabilities() ?? {};
  if (capabilities.tools) {
    const tools = await all(params => client.listTools(params), 'tools');
    const tool = tools.find(t => t.annotations?.readOnlyHint && !t.inputSchema.required?.length);
    if (tool) {
      const result = await client.callTool({ name: tool.name, arguments: {} });
      console.log(`${tool.name}: ${result.isError ? 'error' : 'ok'}`);
    }
  }
  if (capabilities.resources) {
    const resources = await all(params => client.listResources(params), 'resources');
    await all(params => client.listResourceTemplates(params), 'resourceTemplates');
    if (resources.length > 0) {
      await client.readResource({ uri: resources[0].uri });
    }
  }
  if (capabilities.prompts) {
    const prompts = await all(params => client.listPrompts(params), 'prompts');
    if (prompts.length > 0) {
      const required = (prompts[0].arguments ?? []).filter(a => a.required).map(a => [a.name, 'travel']);
      await client.getPrompt({ name: prompts[0].name, arguments: Object.fromEntries(required) });
    }
  }
  await client.ping();
} finally {
  await client.close();
}
