// A server on fastmcp: node fastmcp.mjs FEATURE [PORT]. Without a port it speaks over stdio.
import { FastMCP } from 'fastmcp';
import { z } from 'zod';

const [feature, port] = process.argv.slice(2);
const server = new FastMCP({ name: 'released', version: '1.0.0', instructions: 'Call repeat to repeat words.' });

if (feature === 'completer') {
  // More values than one answer may hold.
  const towns = Array.from({ length: 130 }, (_, k) => `town ${k}`);
  const complete = async start => ({ values: towns.filter(name => name.startsWith(start)) });
  const town = { name: 'town', description: 'A town', required: true, complete };
  server.addPrompt({ name: 'travel', description: 'Plans a day', arguments: [town], load: async () => 'Plan a day.' });
} else {
  const parameters = z.object({ words: z.string() });
  server.addTool({ name: 'repeat', description: 'Repeats words', parameters, execute: async ({ words }) => words });
}

if (port) {
  const http = { host: '127.0.0.1', port: Number(port) };
  await server.start({ transportType: 'httpStream', httpStream: http });
} else {
  await server.start({ transportType: 'stdio' });
}
