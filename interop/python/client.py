"""A client on the Python SDK: client.py MODE COMMAND [ARGUMENT...] starts that server and looks around;
client.py MODE URL does so at a server over streamable HTTP, over HTTP+SSE where the path ends in /sse.

MODE is how the protocol revision is negotiated: auto (the SDK's default), legacy, or a revision to pin.
"""

import sys
import warnings

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPDeprecationWarning


async def every(fetch, field):
    """All pages of one list."""
    items, cursor = [], None
    while True:
        page = await fetch(cursor=cursor)
        items += getattr(page, field)
        cursor = page.next_cursor
        if cursor is None:
            print(f"{field}: {len(items)}")
            return items


def server(command, args):
    if not command.startswith(("http://", "https://")):
        return StdioServerParameters(command=command, args=args)
    return sse_client(command) if command.endswith("/sse") else command


async def main(mode, command, *args):
    async with Client(server(command, list(args)), mode=mode) as client:
        print(f"revision: {client.protocol_version}")
        capabilities = client.server_capabilities
        if capabilities.tools:
            for tool in await every(client.list_tools, "tools"):
                read_only = tool.annotations and tool.annotations.read_only_hint
                if read_only and not tool.input_schema.get("required"):
                    result = await client.call_tool(tool.name, {})
                    print(f"{tool.name}: {'error' if result.is_error else 'ok'}")
                    break
        if capabilities.resources:
            resources = await every(client.list_resources, "resources")
            await every(client.list_resource_templates, "resource_templates")
            if resources:
                await client.read_resource(resources[0].uri)
        if capabilities.prompts:
            prompts = await every(client.list_prompts, "prompts")
            if prompts:
                required = {a.name: "travel" for a in prompts[0].arguments or [] if a.required}
                await client.get_prompt(prompts[0].name, required)
        if client.protocol_version < "2026":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                await client.send_ping()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: client.py auto|legacy|2026-07-28 COMMAND [ARGUMENT...] | URL")
    anyio.run(main, *sys.argv[1:])
