// A client on the TypeScript SDK: node client.mjs FEATURE COMMAND [ARGUMENT...], or FEATURE URL.
import { loadClient } from './typescript.mjs';

const { Client, StdioClientTransport, StreamableHTTPClientTransport } = await loadClient();
const [feature, command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'released', version: '1.0.0' });
const transport = () =>
  /^https?:/.test(command)
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args });
const pause = ms => new Promise(done => setTimeout(done, ms));

// Sends a request that the server can answer.
const use = () => (client.getServerCapabilities()?.tools ? client.listTools() : client.ping());

const features = {
  // Waits for the answer to initialize for a short time, and then ends.
  async impatient() {
    await client.connect(transport(), { timeout: 2000 });
    await use();
  },

  // Calls every tool with metadata of its own and a callback for progress.
  async metadata() {
    await client.connect(transport());
    const { tools } = await use();
    for (const { name } of tools ?? []) {
      const params = { name, arguments: {}, _meta: { 'example.com/trace': 'a1' } };
      await client.callTool(params, undefined, { onprogress() {} });
    }
  },

  // Goes on with the same client if a request fails.
  async persistent() {
    await client.connect(transport());
    for (let k = 0; k < 3; k++) {
      await use().catch(error => console.error(error.message));
    }
  },
};

try {
  await features[feature]();
} catch (error) {
  console.error(error.message);
  await pause(300);
}
await client.close();
