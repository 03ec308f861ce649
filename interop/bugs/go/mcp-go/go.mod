// The versions of the SDK are in versions.
module github.com/mcpcheck/mcpcheck/interop/bugs/go/mcp-go

go 1.23.0
