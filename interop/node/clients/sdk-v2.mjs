// A client on the TypeScript SDK v2: node sdk-v2.mjs MODE COMMAND [ARGUMENT...] starts that server and looks around;
// node sdk-v2.mjs MODE URL does so at a server over streamable HTTP, over HTTP+SSE where the path ends in /sse.
// MODE is how the protocol revision is negotiated: default, auto, or pin (to 2026-07-28).
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

function transport(command, args) {
  if (!/^https?:/.test(command)) {
    return new StdioClientTransport({ command, args });
  }
  const url = new URL(command);
  return url.pathname.endsWith('/sse') ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url);
}

const options = {
  default: {},
  auto: { versionNegotiation: { mode: 'auto' } },
  pin: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
};

const [mode, command, ...args] = process.argv.slice(2);
if (!options[mode] || !command) {
  console.error('usage: sdk-v2.mjs default|auto|pin COMMAND [ARGUMENT...] | URL');
  process.exit(2);
}

const client = new Client({ name: 'interop-sdk-v2', version: '1.0.0' }, options[mode]);
await client.connect(transport(command, args));
try {
  console.log(`revision: ${client.getNegotiatedProtocolVersion()}`);
  const capabilities = client.getServerCapabilities() ?? {};
  // Without a cursor each list call walks every page.
  if (capabilities.tools) {
    const { tools } = await client.listTools();
    console.log(`tools: ${tools.length}`);
    const tool = tools.find(t => t.annotations?.readOnlyHint && !t.inputSchema.required?.length);
    if (tool) {
      const result = await client.callTool({ name: tool.name, arguments: {} });
      console.log(`${tool.name}: ${result.isError ? 'error' : 'ok'}`);
    }
  }
  if (capabilities.resources) {
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    console.log(`resources: ${resources.length}, templates: ${resourceTemplates.length}`);
    if (resources.length > 0) {
      await client.readResource({ uri: resources[0].uri });
    }
  }
  if (capabilities.prompts) {
    const { prompts } = await client.listPrompts();
    console.log(`prompts: ${prompts.length}`);
    if (prompts.length > 0) {
      const required = (prompts[0].arguments ?? []).filter(a => a.required).map(a => [a.name, 'travel']);
      await client.getPrompt({ name: prompts[0].name, arguments: Object.fromEntries(required) });
    }
  }
  if (client.getProtocolEra() === 'legacy') {
    await client.ping();
  }
} finally {
  await client.close();
}
