// Imports what the installed TypeScript SDK exports: version 1 is one package with
// a module for each part, version 2 has a package for each peer.
import { existsSync } from 'node:fs';

const isVersion1 = existsSync(new URL('node_modules/@modelcontextprotocol/sdk', import.meta.url));

const load = (version1, version2) => import(isVersion1 ? `@modelcontextprotocol/sdk/${version1}` : version2);

export async function loadServer() {
  const { McpServer } = await load('server/mcp.js', '@modelcontextprotocol/server');
  const { StdioServerTransport } = await load('server/stdio.js', '@modelcontextprotocol/server/stdio');
  return { McpServer, StdioServerTransport };
}

export async function loadClient() {
  const { Client } = await load('client/index.js', '@modelcontextprotocol/client');
  const { StdioClientTransport } = await load('client/stdio.js', '@modelcontextprotocol/client/stdio');
  const { StreamableHTTPClientTransport } = await load('client/streamableHttp.js', '@modelcontextprotocol/client');
  return { Client, StdioClientTransport, StreamableHTTPClientTransport };
}
